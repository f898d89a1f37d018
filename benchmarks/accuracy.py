"""How far the harness's TTFT and gaps lie from the send times that the timetable server logged.

    python benchmarks/accuracy.py [--quick] [--json FILE]

The quick way to see it: the harness within this process, no command line, no reports; ``clients.py`` measures
the whole command, beside others. Compared are p50 and p99 of both sides, in ms; medians over the repeats.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import PACED
from benchmarks.cores import bind, choose_cores
from benchmarks.timetable import TimetableServer, Truth
from harness import event_loop
from harness.run import Run, run
from scenarios.scenario import scenario_from

TOKENS = 64


def measure(streams: int, requests: int, core: int | None) -> dict[str, float]:
    """One run: claim minus truth of p50 and p99 of TTFT and gaps, in ms."""
    with tempfile.TemporaryDirectory() as folder, TimetableServer(core, *PACED) as server:
        scenario = scenario_from(
            {
                "name": "accuracy",
                "load": {"arrivals": "closed", "concurrency": streams, "requests": requests, "ramp": "640ms"},
                "prompts": {"source": "text", "text": ["one two three"]},
                "sampling": {"max_tokens": TOKENS},
            }
        )
        done = event_loop.run(run(scenario, base_url=server.url, result_dir=Path(folder), reports=()))
        truth = server.truth()
        records = list(done.records)
    assert done.result.outcomes == {"ok": requests}, done.result.outcomes
    assert all(record.output_tokens == len(record.chunk_ns) == TOKENS for record in records)
    return errors(done, truth)


def errors(done: Run, truth: Truth) -> dict[str, float]:
    """Claim minus truth, in ms."""
    found = {}
    for name, values in {"ttft": truth.ttft_ns, "chunk_gap": truth.gaps_ns}.items():
        summary = done.result.metric(name)
        assert summary is not None
        for p in (50.0, 99.0):
            percentile = summary.percentile(p)
            assert percentile is not None
            true = float(np.percentile(values, p, method="inverted_cdf"))
            found[f"{name} p{p:g}"] = (percentile.value - true) / 1e6
    return found


def main() -> None:
    """Print the table, write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="1 and 16 streams, one repeat")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    cores = choose_cores()
    bind(0, cores.client)
    figures: dict[str, Any] = {"load_average": os.getloadavg(), "repeats": 1 if options.quick else 5}
    print(f"load average {figures['load_average'][0]:.2f}; claim minus truth in ms, median of the repeats")
    for streams in (1, 16) if options.quick else (1, 16, 64, 256):
        runs = [measure(streams, max(8, 3 * streams), cores.server) for _ in range(figures["repeats"])]
        figures[str(streams)] = row = {key: statistics.median(each[key] for each in runs) for key in runs[0]}
        print(
            f"{streams:4} streams  " + "  ".join(f"{key} {value:+.3f}" for key, value in row.items()),
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
