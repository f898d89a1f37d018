"""How often the interval of ``tokenpace capacity`` holds the truth: on simulated queues whose knee is known.

    python benchmarks/capacity.py [--quick] [--json FILE]

No server and no clock: a queue M/M/c in virtual time stands for the server, and the probes are judged as real
runs are. Shown for each queue: how often the interval held the knee, how wide it was, what it cost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.simulated_queue import Queue, QueueProber
from harness.capacity.answer import Question
from harness.capacity.search import Limits
from harness.capacity.searching import find_capacity
from reports.result import Verdict

if TYPE_CHECKING:
    from reports.capacity.search import Capacity


class Cell(NamedTuple):
    """A queue and what is asked of it.

    Attributes:
        name: In the table.
        queue: The server.
        limit_s: On the percentile ``p`` of the response times.
        p: That percentile.
        num_requests: Of a probe that isn't lengthened.
        num_warmup: Sent before them.
    """

    name: str
    queue: Queue
    limit_s: float
    p: float
    num_requests: int
    num_warmup: int


CELLS = (
    Cell("M/M/1, p95, utilisation 0.70 at the knee", Queue(1), 1.0, 95, 8_000, 500),
    Cell("M/M/4, p95, utilisation 0.70 at the knee", Queue(4), 0.373, 95, 8_000, 500),
    Cell("M/M/8, p90, utilisation 0.78 at the knee", Queue(8), 0.27, 90, 8_000, 800),
    Cell("M/M/16, p99, utilisation 0.87 at the knee", Queue(16), 0.5, 99, 8_000, 1_200),
)
PRECISION = 0.15
MAX_PROBES = 16


def search(cell: Cell, seed: int) -> Capacity:
    """One search, its first load anywhere from an eighth of the knee to eight times as much."""
    knee = cell.queue.knee(cell.limit_s, cell.p)
    start = knee * 8 ** np.random.default_rng([seed, 1]).uniform(-1, 1)
    prober = QueueProber(cell.queue, cell.limit_s, cell.p, cell.num_requests, cell.num_warmup, seed)
    question = Question(
        scenario_name="queue",
        scenario={},
        key="load.rate",
        unit="requests/s",
        objectives=(f"ttft p{cell.p:g} < {cell.limit_s:g}s",),
        base_url="",
        model="",
        started_at="",
    )
    limits = Limits(
        start=float(start),
        lowest=1e-3 * float(start),
        highest=None,
        whole=False,
        confidence=0.95,
        precision=PRECISION,
        max_probes=MAX_PROBES,
        max_time_s=1e9,
        expect_s=lambda _: 0.0,
    )
    return asyncio.run(find_capacity(question, limits, prober))


def holds(capacity: Capacity, knee: float) -> bool:
    """Whether the interval holds it; an end that isn't known bounds nothing."""
    low, high = capacity.low, capacity.high
    return (low is None or low <= knee) and (high is None or knee <= high)


def figures(cell: Cell, repeats: int) -> dict[str, Any]:
    """Of that many searches."""
    knee = cell.queue.knee(cell.limit_s, cell.p)
    found = [search(cell, seed) for seed in range(repeats)]
    whole = [each for each in found if each.low and each.high]
    probes = [probe for each in found for probe in each.probes]
    decided = [probe for probe in probes if probe.verdict in (Verdict.PASS, Verdict.FAIL)]
    wrong = [probe for probe in decided if (probe.verdict is Verdict.PASS) == (probe.load > knee)]
    return {
        "repeats": repeats,
        "knee": knee,
        "utilisation": knee * cell.queue.mean_s / cell.queue.num_servers,
        "covered": statistics.mean(holds(each, knee) for each in found),
        "bounded": len(whole) / repeats,
        "precise": statistics.mean(each.end == "precision" for each in found),
        "width": statistics.median([each.high / each.low - 1 for each in whole if each.high and each.low]),
        "error": statistics.median([abs(each.estimate / knee - 1) for each in whole if each.estimate]),
        "probes": statistics.mean(len(each.probes) for each in found),
        "requests": statistics.mean(sum(probe.num_requests for probe in each.probes) for each in found),
        "undecided": 1 - len(decided) / len(probes),
        "wrong": len(wrong) / max(1, len(decided)),
    }


def main() -> None:
    """Print the table, write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="10 repeats instead of 50")
    parser.add_argument("--cells", help="numbers of the queues, from 1, such as 1,3")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    chosen = [int(each) - 1 for each in options.cells.split(",")] if options.cells else range(len(CELLS))
    everything = {}
    print("covered: the 95 % interval holds the knee; width: of the interval, median; error: of the estimate")
    for cell in (CELLS[i] for i in chosen):
        everything[cell.name] = row = figures(cell, 10 if options.quick else 50)
        print(
            f"{cell.name:44} covered {row['covered']:5.0%}  width {row['width']:5.1%}  "
            f"error {row['error']:5.1%}  precise {row['precise']:4.0%}  probes {row['probes']:4.1f}  "
            f"requests {row['requests']:8,.0f}  undecided {row['undecided']:4.0%}  "
            f"wrong {row['wrong']:5.1%}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
