"""How often verdicts are wrong, and how often they decide, on simulated servers whose truth is known.

    python benchmarks/verdicts.py [--quick] [--json FILE]

A server is a seeded simulation: independent response times, exponential or with a long tail (log-normal, the
logarithm's deviation being 1), a queue (M/M/1) at a load of 0.5, 0.8 or 0.9, where neighbours wait in one
queue, or one whose requests alternate (log-normal, neighbours' correlation -0.9), as between two servers. Of
the long tail means alone are judged. Each line is a rule on runs of so many requests:

* wrong PASS, wrong FAIL: in what share of the runs, when the limit is exactly the truth, the hardest case
  there is. No more than 5 % is what 95 % confidence means. "as if independent" is the same without regard to
  order.
* limit x: the share of the runs that got the right verdict where the limit is so many times the truth: a
  FAIL below it, a PASS above. The rest was INCONCLUSIVE.
* looks: wrong PASS and wrong FAIL of runs that end at the first look that decides (``--until-decided``).

A second table is of token rates (``>=``, so a limit below the truth is a PASS), counted in so many slices of
a second: independent ones (Poisson), such as sway by a fifth with a correlation of neighbours of 0.8 or 0.9,
and such as are 800 or 200 in spells of 5 or 10 on average, six spells and more in a run.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import math
import time
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtri, stdtrit

from harness.looks import MIN_REQUESTS, NUM_LOOKS, confidence_at, place_of
from harness.recorder import step
from harness.series import Series
from harness.sla.evidence import find
from harness.sla.grammar import rule_from
from harness.sla.statistics import Decision
from harness.summary.due_order import Ordered
from harness.summary.snapshot import Snapshot
from reports.histogram import Histogram
from reports.result import Rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.random import Generator

    from harness.sla.finding import Finding

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
MS = 1_000_000
SERVICE = 10 * MS
SERVERS = {"independent": 0.0, "M/M/1 at 0.5": 0.5, "M/M/1 at 0.8": 0.8, "M/M/1 at 0.9": 0.9}
LONG_TAIL = "log-normal"
ALTERNATING = "alternating"
STATISTICS = ("p50", "p90", "p95", "p99", "mean")
FLOORS = ("p5 >=", "p10 >=", "p50 >=")
SIZES = (30, 100, 300, 1_000, 3_000, 10_000)
SERIES = Series("e2e")
OFFSETS = (0.5, 0.8, 1.25, 2.0)
RATE = 500.0
TOKENS_EACH = 100
SWAYS = {"Poisson": 0.0, "sways, 0.8": 0.8, "sways, 0.9": 0.9}
SPELLS = {"on and off, 5": 5, "on and off, 10": 10}
SLICES = (20, 64, 128, 300)
RATE_OFFSETS = (0.8, 0.9, 1.1, 1.25)


class Line(NamedTuple):
    """What became of the runs of one server, size and rule, in shares of the runs."""

    server: str
    n: int
    rule: str
    wrong_pass: float
    wrong_fail: float
    naive_pass: float
    naive_fail: float
    worth: float
    decided: dict[float, float]
    looks_pass: float
    looks_fail: float


class RateLine(NamedTuple):
    """What became of the rates of one server and number of slices, in shares of the runs.

    Attributes:
        width: Median distance of the bounds, over that of 20 independent batches' Student bounds.
    """

    server: str
    n: int
    wrong_pass: float
    wrong_fail: float
    width: float
    decided: dict[float, float]


def response_times(load: float, n: int, rng: Generator) -> FloatArray:
    """Of a steady queue, ns, exponential with mean ``SERVICE`` / (1 - load); load 0 is no queue."""
    warm = 0 if not load else math.ceil(20 / (1 - load) ** 2)
    service = rng.exponential(1.0, n + warm)
    if not load:
        return service * SERVICE
    sums = np.concatenate([[0.0], np.cumsum(service - rng.exponential(1 / load, n + warm))[:-1]])
    waits = sums - np.minimum.accumulate(np.minimum(sums, 0))
    return (waits + service)[warm:] * SERVICE


def truth(load: float, statistic: str, server: str = "") -> float:
    """What the mean or percentile of such times really is, ns."""
    if server == ALTERNATING:
        return SERVICE * float(np.exp(0.5 * ndtri(float(statistic[1:]) / 100)))
    mean = SERVICE / (1 - load)
    return mean if statistic == "mean" else -math.log(1 - float(statistic[1:]) / 100) * mean


def long_tailed(n: int, rng: Generator) -> FloatArray:
    """Independent log-normal times of mean ``SERVICE``, ns."""
    return SERVICE * rng.lognormal(-0.5, 1.0, n)


def alternating(n: int, rng: Generator) -> FloatArray:
    """Log-normal times of median ``SERVICE``, each of which is the contrary of the one before, ns."""
    return SERVICE * np.exp(0.5 * autoregressive(n, -0.9, rng))


def autoregressive(n: int, correlation: float, rng: Generator) -> FloatArray:
    """Standard normal values, neighbours of which are so correlated."""
    noise = rng.standard_normal(n + 200) * math.sqrt(1 - correlation**2)
    return np.asarray(lfilter([1], [1, -correlation], noise))[200:]


def counts_of(server: str, n: int, rng: Generator) -> FloatArray:
    """Tokens a second, ``RATE`` on average."""
    if server in SPELLS:
        turns = rng.random(n) < 1 / SPELLS[server]
        turns[0] = rng.random() < 0.5
        return rng.poisson(np.where(np.cumsum(turns) % 2 == 1, 1.6, 0.4) * RATE).astype(np.float64)
    if not SWAYS[server]:
        return TOKENS_EACH * rng.poisson(RATE / TOKENS_EACH, n).astype(np.float64)
    return np.rint(RATE * np.maximum(0, 1 + 0.2 * autoregressive(n, SWAYS[server], rng)))


def snapshot_of(times_ns: FloatArray, *, in_order: bool = True) -> Snapshot:
    """A closed-loop run of such requests.

    Args:
        times_ns: End-to-end times in due order.
        in_order: Whether to tell in which order they came.
    """
    histogram = Histogram()
    histogram.record_many(np.rint(times_ns / step("ns")).astype(np.int64))
    columns = {str(SERIES): times_ns} if in_order else {}
    nothing: dict[Any, Any] = {}
    return Snapshot(
        loop="closed",
        capped=False,
        window_ns=(0, 1),
        pace=None,
        num_requests=times_ns.size,
        num_succeeded=times_ns.size,
        num_failed=0,
        num_cut=0,
        histograms={SERIES: histogram},
        reasons=nothing,
        num_unfit=nothing,
        client_errors={SERIES: None},
        rates=nothing,
        counts=nothing,
        slice_s=1.0,
        due_order=Ordered(np.arange(times_ns.size), columns),
    )


def decision(snapshot: Snapshot, statistic: str, limit_ns: float, confidence: float = 0.95) -> Decision:
    """What a run says of ``e2e <statistic> < limit``, or of a floor, where the statistic ends in ``>=``."""
    return find(rule_from("e2e", _condition(statistic, limit_ns)), snapshot, confidence).decision


def _condition(statistic: str, limit_ns: float) -> str:
    return f"{statistic} {'' if statistic in FLOORS else '< '}{round(limit_ns)}ns"


def first_decision(times_ns: FloatArray, statistic: str, limit_ns: float) -> Decision:
    """What the first look says that says anything."""
    for look in range(1, NUM_LOOKS + 1):
        seen = times_ns[: round(place_of(look) * times_ns.size)]
        if seen.size < MIN_REQUESTS:
            continue
        found = decision(snapshot_of(seen), statistic, limit_ns, confidence_at(look, 0.95))
        if found is not Decision.OPEN:
            return found
    return Decision.OPEN


def times_of(server: str, n: int, rng: Generator) -> FloatArray:
    """Response times of a server of that name, ns."""
    if server == LONG_TAIL:
        return long_tailed(n, rng)
    return alternating(n, rng) if server == ALTERNATING else response_times(SERVERS[server], n, rng)


def rate_line(server: str, n: int, repeats: int) -> RateLine:
    """The figures of one line of rates; the same every time."""
    at_truth, widths = [], []
    right = dict.fromkeys(RATE_OFFSETS, 0)
    student = 2 * float(stdtrit(19, 0.95)) / math.sqrt(n)
    for repeat in range(repeats):
        counts = counts_of(server, n, np.random.default_rng([n, len(server), repeat]))
        snapshot = _counted(counts)
        found = _of_rate(snapshot, RATE)
        at_truth.append(found.decision)
        widths.append(((found.high or 0.0) - (found.low or 0.0)) / max(1.0, float(counts.std())) / student)
        for offset in RATE_OFFSETS:
            wanted = Decision.TRUE if offset < 1 else Decision.FALSE
            right[offset] += _of_rate(snapshot, offset * RATE).decision is wanted
    return RateLine(
        server=server,
        n=n,
        wrong_pass=_share(at_truth, Decision.TRUE),
        wrong_fail=_share(at_truth, Decision.FALSE),
        width=float(np.median(widths)),
        decided={offset: num / repeats for offset, num in right.items()},
    )


def _counted(counts: FloatArray) -> Snapshot:
    total, metric = float(counts.sum()), "output_token_rate"
    rate = Rate(
        name=metric, value=total / counts.size, unit="tokens/s", numerator=total, denominator=counts.size
    )
    num_requests = max(1, round(total / TOKENS_EACH))
    return dataclasses.replace(
        snapshot_of(np.full(num_requests, float(MS))),
        rates={metric: rate},
        counts={metric: counts.astype(np.int64)},
    )


def _of_rate(snapshot: Snapshot, limit: float) -> Finding:
    return find(rule_from("output_token_rate", f">= {limit} tokens/s"), snapshot, 0.95)


def line(
    server: str,
    n: int,
    statistic: str,
    repeats: int,
    *,
    looks: bool = True,
    offsets: Sequence[float] = OFFSETS,
) -> Line:
    """The figures of one line; the same every time."""
    load = SERVERS.get(server, 0.0)
    exact = truth(load, statistic.partition(" ")[0], server)
    at_truth, naive, first, worth = [], [], [], []
    right = dict.fromkeys(offsets, 0)
    for repeat in range(repeats):
        rng = np.random.default_rng([n, round(10 * load), repeat])
        times_ns = times_of(server, n, rng)
        snapshot = snapshot_of(times_ns)
        at_truth.append(decision(snapshot, statistic, exact))
        naive.append(decision(snapshot_of(times_ns, in_order=False), statistic, exact))
        worth.append(find(rule_from("e2e", _condition(statistic, exact)), snapshot, 0.95).n_eff or n)
        for offset in offsets:
            wanted = Decision.TRUE if (offset > 1) != (statistic in FLOORS) else Decision.FALSE
            right[offset] += decision(snapshot, statistic, offset * exact) is wanted
        if looks:
            first.append(first_decision(times_ns, statistic, exact))
    return Line(
        server=server,
        n=n,
        rule=statistic,
        wrong_pass=_share(at_truth, Decision.TRUE),
        wrong_fail=_share(at_truth, Decision.FALSE),
        naive_pass=_share(naive, Decision.TRUE),
        naive_fail=_share(naive, Decision.FALSE),
        worth=float(np.median(worth)),
        decided={offset: num / repeats for offset, num in right.items()},
        looks_pass=_share(first, Decision.TRUE),
        looks_fail=_share(first, Decision.FALSE),
    )


def _share(decisions: list[Decision], wanted: Decision) -> float:
    return sum(each is wanted for each in decisions) / max(1, len(decisions))


def table(lines: list[Line]) -> Iterator[str]:
    """As Markdown; shares in per cent."""
    offsets = (f"limit x {offset:g}" for offset in OFFSETS)
    yield _row(
        "server", "n", "worth", "rule", "wrong PASS", "wrong FAIL", "as if independent", *offsets, "looks"
    )
    yield _row(*["---"] * (8 + len(OFFSETS)))
    for each in lines:
        yield _row(
            each.server,
            f"{each.n:,}",
            f"{each.worth:,.0f}",
            each.rule,
            f"{100 * each.wrong_pass:.1f}",
            f"{100 * each.wrong_fail:.1f}",
            f"{100 * each.naive_pass:.0f} / {100 * each.naive_fail:.0f}",
            *(f"{100 * each.decided[offset]:.0f}" for offset in OFFSETS),
            f"{100 * each.looks_pass:.1f} / {100 * each.looks_fail:.1f}",
        )


def rate_table(lines: list[RateLine]) -> Iterator[str]:
    """As Markdown; shares in per cent."""
    offsets = (f"limit x {offset:g}" for offset in RATE_OFFSETS)
    yield _row("server", "slices", "wrong PASS", "wrong FAIL", "width", *offsets)
    yield _row(*["---"] * (5 + len(RATE_OFFSETS)))
    for each in lines:
        yield _row(
            each.server,
            f"{each.n:,}",
            f"{100 * each.wrong_pass:.1f}",
            f"{100 * each.wrong_fail:.1f}",
            f"{each.width:.2f}",
            *(f"{100 * each.decided[offset]:.0f}" for offset in RATE_OFFSETS),
        )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _as_dicts(lines: Sequence[Line | RateLine]) -> list[dict[str, Any]]:
    return [each._asdict() for each in lines]


def main() -> int:
    """Print the table; 1 where a verdict is wrong more often than 5 % and chance allow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="100 runs a line instead of 500, none of 10,000 requests"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the lines there too")
    arguments = parser.parse_args()
    repeats, begun = 100 if arguments.quick else 500, time.monotonic()
    sizes = SIZES[:-1] if arguments.quick else SIZES
    work = [(server, n, rule) for server in SERVERS for n in sizes for rule in STATISTICS]
    work += [(LONG_TAIL, n, "mean") for n in sizes]
    work += [(ALTERNATING, n, rule) for n in sizes for rule in ("p90", "p95", "p99")]
    work += [("M/M/1 at 0.9", n, rule) for n in (10, *sizes) for rule in FLOORS]
    of_rates = [(server, n, repeats) for server in SWAYS for n in SLICES]
    of_rates += [(server, n, repeats) for server, spell in SPELLS.items() for n in SLICES if n >= 6 * spell]
    with Pool() as pool:
        lines = pool.starmap(functools.partial(line, repeats=repeats), work, chunksize=1)
        rates = pool.starmap(rate_line, of_rates, chunksize=1)
    print("\n".join((*table(lines), "", *rate_table(rates))))
    allowed = 0.05 + 3 * math.sqrt(0.05 * 0.95 / repeats)
    worst = max(max(each.wrong_pass, each.wrong_fail, each.looks_pass, each.looks_fail) for each in lines)
    worst = max(worst, *(max(each.wrong_pass, each.wrong_fail) for each in rates))
    print(
        f"\n{repeats} runs a line, {time.monotonic() - begun:.0f} s; the worst is {100 * worst:.1f} % wrong"
    )
    if arguments.json:
        arguments.json.write_text(json.dumps([*_as_dicts(lines), *_as_dicts(rates)], indent=1))
    return int(worst > allowed)


if __name__ == "__main__":
    raise SystemExit(main())
