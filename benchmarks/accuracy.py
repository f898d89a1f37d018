"""How far the harness's TTFT and gaps lie from the send times that the timetable server logged.

    python benchmarks/accuracy.py [--quick] [--json FILE]

Server on one core, harness on another where there are two. Compared are distributions: p50 and p99 of both
sides, in ms; medians over the repeats.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np

from harness import event_loop
from harness.run import run
from scenarios.scenario import scenario_from

TTFT, GAP, TOKENS = "50ms", "10ms", 64


def server(core: int) -> subprocess.Popen[str]:
    """A timetable server on a free port, bound to a core."""
    command = [
        sys.executable,
        "-m",
        "reference_server.timetable",
        "--port",
        "0",
        "--ttft",
        TTFT,
        "--gap",
        GAP,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(process.pid, {core})
    return process


def measure(streams: int, requests: int) -> dict[str, float]:
    """One run: claim minus truth of p50 and p99 of TTFT and gaps, in ms."""
    with tempfile.TemporaryDirectory() as folder, server(0) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        scenario = scenario_from(
            {
                "name": "accuracy",
                "load": {"arrivals": "closed", "concurrency": streams, "requests": requests, "ramp": "640ms"},
                "prompts": {"source": "text", "text": ["one two three"]},
                "sampling": {"max_tokens": TOKENS},
            }
        )
        done = event_loop.run(run(scenario, base_url=url, result_dir=Path(folder), reports=()))
        log = [json.loads(line) for line in urlopen(f"{url}/timetable/log?after=0").read().splitlines()]
        records = list(done.records)
        process.terminate()
    assert done.result.outcomes == {"ok": requests}, done.result.outcomes
    assert all(record.output_tokens == len(record.chunk_ns) == TOKENS for record in records)
    truth = {
        "ttft": np.array([line["token_ns"][0] - line["arrival_ns"] for line in log]),
        "chunk_gap": np.concatenate([np.diff(line["token_ns"]) for line in log]),
    }
    found = {}
    for name, values in truth.items():
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
    if hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1:
        os.sched_setaffinity(0, {1})
    figures: dict[str, Any] = {"load_average": os.getloadavg(), "repeats": 1 if options.quick else 5}
    print(f"load average {figures['load_average'][0]:.2f}; claim minus truth in ms, median of the repeats")
    for streams in (1, 16) if options.quick else (1, 16, 64, 256):
        runs = [measure(streams, max(8, 3 * streams)) for _ in range(figures["repeats"])]
        figures[str(streams)] = row = {key: statistics.median(each[key] for each in runs) for key in runs[0]}
        print(
            f"{streams:4} streams  " + "  ".join(f"{key} {value:+.3f}" for key, value in row.items()),
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
