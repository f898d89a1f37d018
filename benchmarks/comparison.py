"""How often ``tokenpace compare`` is wrong, and what it finds, on simulated servers whose truth is known.

    python benchmarks/comparison.py [--quick] [--json FILE]

A/A: pairs of runs without any difference and with nothing allowed; each line tells in what share of them a
figure lay beyond no change by its own interval (the mean of both sides, nominal 5 %), and in what share any
was called a regression after Holm's correction.
A/B: the second run is 10 % slower; each line tells in what share of the pairs p95 was called a regression.
All chance is seeded.
"""

from __future__ import annotations

import argparse
import json
import math
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.comparison.allowance import Allowances
from harness.comparison.comparing import compare
from harness.comparison.figure import figures_of
from harness.comparison.identity import Identity
from harness.comparison.past_run import PastRun
from harness.comparison.sample import Cells, Sample, Slices
from harness.comparison.sampling import cell_size
from harness.comparison.side import Side
from reports.comparison.document import Change
from reports.hdr_layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
Workload = tuple[np.random.Generator, np.random.Generator]
FIGURES = figures_of(["e2e p50", "e2e p95", "e2e p99", "e2e mean"])
LAYOUT = Layout()


def independent(n: int, rngs: Workload) -> FloatArray:
    """Log-normal times with a deviation of 0.3, as prompts of one length have on an idle server."""
    return 200e6 * np.exp(0.3 * rngs[1].standard_normal(n))


def prompts_of_many_lengths(n: int, rngs: Workload) -> FloatArray:
    """Times made by the prompt's length (a deviation of 0.8), the server adding a deviation of 0.1."""
    return 200e6 * np.exp(0.8 * rngs[0].standard_normal(n) + 0.1 * rngs[1].standard_normal(n))


def queue(load: float) -> Callable[[int, Workload], FloatArray]:
    """Response times of M/M/1 at that load when steady; arrivals are workload, service the server's."""

    def times(n: int, rngs: Workload) -> FloatArray:
        warm = 4_000
        gaps = rngs[0].exponential(1 / load, n + warm)
        service = rngs[1].exponential(1.0, n + warm)
        ends = np.cumsum(service - gaps)  # Lindley: the wait is how far the sum lies above its lowest point
        waits = ends - np.minimum(np.minimum.accumulate(ends), 0)
        return 100e6 * (waits[warm - 1 : -1] + service[warm:])

    return times


class Server(NamedTuple):
    """What is simulated.

    Attributes:
        name: For the table.
        times: Times of n requests, ns, from a generator of the workload and one of the server.
        same_requests: Whether both runs of a pair send the same requests.
        runs: On each side.
        run_deviation: Of the logarithm of a run's own speed.
    """

    name: str
    times: Callable[[int, Workload], FloatArray]
    same_requests: bool = False
    runs: int = 1
    run_deviation: float = 0.0


SERVERS = (
    Server("independent", independent),
    Server("many lengths, same requests", prompts_of_many_lengths, same_requests=True),
    Server("many lengths, other requests", prompts_of_many_lengths),
    Server("M/M/1 at 0.5", queue(0.5)),
    Server("M/M/1 at 0.8", queue(0.8)),
    Server("M/M/1 at 0.9", queue(0.9)),
    Server("M/M/1 at 0.8, same requests", queue(0.8), same_requests=True),
    Server("5 runs each, 3 % apart", independent, runs=5, run_deviation=0.03),
)


def sample_of_times(times_ns: FloatArray) -> Sample:
    """The sample of a run of so many requests that all succeeded, with nothing but their times."""
    n = times_ns.size
    per_cell = cell_size(n)
    units = np.rint(times_ns / 1e3).astype(np.int64)
    cells = np.arange(n) // per_cell
    keys, count = np.unique(cells * LAYOUT.length + LAYOUT.indices(units), return_counts=True)
    cell, bucket = np.divmod(keys, LAYOUT.length)
    sums = np.bincount(cells, weights=units)
    ended = np.bincount(cells).tolist()
    return Sample(
        per_cell=per_cell,
        num_requests=n,
        series={"e2e": Cells.of(cell, bucket, count, sums, int(units.max()))},
        shares={"error_rate": ([0] * len(ended), ended)},
        slices=Slices(0.0, 0, {}),
        rates={},
        reasons={},
        client_errors={},
    )


def side(server: Server, n: int, pair: int, place: int, slower: float) -> Side:
    """One side of a pair: 0 or 1."""
    runs = []
    for run in range(server.runs):
        workload = (pair, 0, 0) if server.same_requests else (pair, 1 + place, run)
        rngs = np.random.default_rng([7, *workload]), np.random.default_rng([8, pair, place, run])
        own = math.exp(server.run_deviation * rngs[1].standard_normal())
        times = server.times(n // server.runs, rngs) * own * slower
        seed = 0 if server.same_requests else 1 + place
        identity = Identity(
            name="simulated", started_at="", keys={"seed": seed}, faults=(), num_requests=n, duration_s=1.0
        )
        runs.append(PastRun(identity=identity, sample=sample_of_times(times)))
    return Side("AB"[place], tuple(runs))


def measure(
    server: Server, n: int, pairs: int, times: int, *, slower: float = 1.0, allow: str = "0%"
) -> dict[str, float]:
    """In what share of the pairs each figure was called a regression, by itself and after correction."""
    alone = dict.fromkeys(map(str, FIGURES), 0.0)
    found = dict.fromkeys(map(str, FIGURES), 0)
    any_found = undecided = 0
    for pair in range(pairs):
        a, b = side(server, n, pair, 0, 1.0), side(server, n, pair, 1, slower)
        done = compare(a, b, figures=FIGURES, allowances=Allowances([allow]), seed=pair, times=times)
        any_found += done.verdict is Change.REGRESSION
        for figure in done.figures:
            if figure.low is not None and figure.high is not None:
                alone[figure.name] += ((figure.low > 1) + (figure.high < 1)) / 2
            found[figure.name] += figure.verdict is Change.REGRESSION
            undecided += figure.low is None
    return {
        **{f"{name} alone": count / pairs for name, count in alone.items()},
        **{name: count / pairs for name, count in found.items()},
        "any": any_found / pairs,
        "without interval": undecided / pairs / len(FIGURES),
    }


FOUND = (
    (0, 2_000, "0%"),
    (0, 8_000, "5%"),
    (1, 2_000, "0%"),
    (1, 8_000, "5%"),
    (2, 16_000, "0%"),
    (3, 16_000, "0%"),
    (3, 48_000, "0%"),
    (7, 10_000, "0%"),
)


class Work(NamedTuple):
    """A line of the tables, by the place of its server in ``SERVERS``: a server itself goes to no process."""

    server: int
    n: int
    pairs: int
    times: int
    slower: float = 1.0
    allow: str = "0%"

    @property
    def name(self) -> str:
        """In the JSON."""
        name = SERVERS[self.server].name
        return name if self.slower == 1 else f"{name}, {self.n}, {self.allow}"


def measured(work: Work) -> tuple[Work, dict[str, float]]:
    """The line's figures."""
    row = measure(SERVERS[work.server], *work[1:4], slower=work.slower, allow=work.allow)
    return work, row


def line(work: Work, row: dict[str, float]) -> str:
    """As it is printed."""
    name = f"{SERVERS[work.server].name:50}"
    if work.slower != 1:
        return f"{name} n {work.n:6,}, allowed {work.allow:3} p95 {100 * row['e2e p95']:5.1f}"
    shown = "  ".join(f"{figure.statistic} {100 * row[f'{figure} alone']:4.1f}" for figure in FIGURES)
    rest = f"any after Holm {100 * row['any']:4.1f}  no interval {100 * row['without interval']:4.1f}"
    return f"{name} {shown}  {rest}"


def main() -> None:
    """Print the tables, write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="a fifth of the pairs, and 400 draws instead of 2,000"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    pairs, times = (200, 400) if options.quick else (1_000, 2_000)
    alike = [Work(server, 2_000, pairs, times) for server in range(len(SERVERS))]
    slower = [Work(server, n, pairs // 5, times, 1.1, allow) for server, n, allow in FOUND]
    figures: dict[str, Any] = {"pairs": pairs, "draws": times, "false alarms": {}, "found": {}}
    with Pool() as pool:
        print(f"A/A, {pairs} pairs of 2,000 requests, nothing allowed: beyond no change in % of the pairs")
        for work, row in pool.imap(measured, alike):
            figures["false alarms"][work.name] = row
            print(line(work, row), flush=True)
        print(f"A/B, {pairs // 5} pairs, p95 slower by 10 %: found in % of them")
        for work, row in pool.imap(measured, slower):
            figures["found"][work.name] = row
            print(line(work, row), flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
