"""How often verdicts are wrong, and how often they decide, on simulated servers whose truth is known.

    python benchmarks/verdicts.py [--quick] [--json FILE]

A server is a seeded simulation: independent response times, exponential or with a long tail (log-normal, the
logarithm's deviation being 1), or a queue (M/M/1) at a load of 0.5, 0.8 or 0.9, where neighbours wait in one
queue. Of the long tail means alone are judged. Each line is a rule on runs of so many requests:

* wrong PASS, wrong FAIL: in what share of the runs, when the limit is exactly the truth, the hardest case
  there is. No more than 5 % is what 95 % confidence means. "as if independent" is the same without regard to
  order.
* limit x: the share of the runs that got the right verdict where the limit is so many times the truth: a
  FAIL below it, a PASS above. The rest was INCONCLUSIVE.
* looks: wrong PASS and wrong FAIL of runs that end at the first look that decides (``--until-decided``).
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import time
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.looks import MIN_REQUESTS, NUM_LOOKS, confidence_at, place_of
from harness.recorder import step
from harness.series import Series
from harness.sla.evidence import find
from harness.sla.grammar import rule_from
from harness.sla.statistics import Decision
from harness.summary.due_order import Ordered
from harness.summary.snapshot import Snapshot
from reports.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.random import Generator

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
MS = 1_000_000
SERVICE = 10 * MS
SERVERS = {"independent": 0.0, "M/M/1 at 0.5": 0.5, "M/M/1 at 0.8": 0.8, "M/M/1 at 0.9": 0.9}
LONG_TAIL = "log-normal"
STATISTICS = ("p50", "p90", "p95", "p99", "mean")
SIZES = (30, 100, 300, 1_000, 3_000, 10_000)
SERIES = Series("e2e")
OFFSETS = (0.5, 0.8, 1.25, 2.0)


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


def response_times(load: float, n: int, rng: Generator) -> FloatArray:
    """Of a steady queue, ns, exponential with mean ``SERVICE`` / (1 - load); load 0 is no queue."""
    warm = 0 if not load else math.ceil(20 / (1 - load) ** 2)
    service = rng.exponential(1.0, n + warm)
    if not load:
        return service * SERVICE
    sums = np.concatenate([[0.0], np.cumsum(service - rng.exponential(1 / load, n + warm))[:-1]])
    waits = sums - np.minimum.accumulate(np.minimum(sums, 0))
    return (waits + service)[warm:] * SERVICE


def truth(load: float, statistic: str) -> float:
    """What the mean or percentile of ``response_times`` really is, ns."""
    mean = SERVICE / (1 - load)
    return mean if statistic == "mean" else -math.log(1 - float(statistic[1:]) / 100) * mean


def long_tailed(n: int, rng: Generator) -> FloatArray:
    """Independent log-normal times of mean ``SERVICE``, ns."""
    return SERVICE * rng.lognormal(-0.5, 1.0, n)


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
    """What a run says of ``e2e <statistic> < limit``."""
    return find(rule_from("e2e", f"{statistic} < {round(limit_ns)}ns"), snapshot, confidence).decision


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
    exact = truth(load, statistic)
    at_truth, naive, first, worth = [], [], [], []
    right = dict.fromkeys(offsets, 0)
    for repeat in range(repeats):
        rng = np.random.default_rng([n, round(10 * load), repeat])
        times_ns = long_tailed(n, rng) if server == LONG_TAIL else response_times(load, n, rng)
        snapshot = snapshot_of(times_ns)
        at_truth.append(decision(snapshot, statistic, exact))
        naive.append(decision(snapshot_of(times_ns, in_order=False), statistic, exact))
        worth.append(find(rule_from("e2e", f"{statistic} < {round(exact)}ns"), snapshot, 0.95).n_eff or n)
        for offset in offsets:
            wanted = Decision.TRUE if offset > 1 else Decision.FALSE
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


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


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
    with Pool() as pool:
        lines = pool.starmap(functools.partial(line, repeats=repeats), work, chunksize=1)
    print("\n".join(table(lines)))
    allowed = 0.05 + 3 * math.sqrt(0.05 * 0.95 / repeats)
    worst = max(max(each.wrong_pass, each.wrong_fail, each.looks_pass, each.looks_fail) for each in lines)
    print(
        f"\n{repeats} runs a line, {time.monotonic() - begun:.0f} s; the worst is {100 * worst:.1f} % wrong"
    )
    if arguments.json:
        arguments.json.write_text(json.dumps([each._asdict() for each in lines], indent=1))
    return int(worst > allowed)


if __name__ == "__main__":
    raise SystemExit(main())
