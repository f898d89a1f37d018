"""What the harness reports against the send times that the timetable server logged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.timetable_process import TimetableProcess

from harness import event_loop
from harness.run import run
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from pathlib import Path

    from harness.run import Run

NUM_TOKENS = 64
LIMIT_NS = 1_000_000
TRIES = 5


def closed_loop(streams: int, requests: int) -> dict[str, Any]:
    return {
        "name": "truth",
        "load": {"arrivals": "closed", "concurrency": streams, "requests": requests, "ramp": "640ms"},
        "prompts": {"source": "text", "text": ["one two three"]},
        "sampling": {"max_tokens": NUM_TOKENS},
    }


@pytest.mark.parametrize(("streams", "requests"), [(1, 4), (16, 64), (64, 192)])
def test_counts_are_exact_and_times_agree_with_the_server(
    streams: int, requests: int, tmp_path: Path
) -> None:
    """TTFT 50 ms, gap 10 ms, 64 tokens: p50 of TTFT and of gaps within 1 ms of the server's own log.

    Counts must be exact each time. The machine may be busy with other things, so the times get several tries.
    """
    errors = [_errors_ns(streams, requests, tmp_path / "0")]
    while max(errors[-1]) >= LIMIT_NS and len(errors) < TRIES:
        errors.append(_errors_ns(streams, requests, tmp_path / str(len(errors))))
    assert max(errors[-1]) < LIMIT_NS, errors


def _errors_ns(streams: int, requests: int, folder: Path) -> tuple[float, float]:
    """How far the p50 of TTFT and of the gaps lie from the server's."""
    scenario = scenario_from(closed_loop(streams, requests))
    with TimetableProcess("--ttft", "50ms", "--gap", "10ms") as server:
        done = event_loop.run(run(scenario, base_url=server.url, result_dir=folder, reports=()))
        log = server.log(requests)
    assert done.result.outcomes == {"ok": requests}
    assert [len(record.chunk_ns) for record in done.records] == [NUM_TOKENS] * requests
    assert {record.output_tokens for record in done.records} == {NUM_TOKENS}
    ttft = np.median([line["token_ns"][0] - line["arrival_ns"] for line in log])
    gap = np.median(np.concatenate([np.diff(line["token_ns"]) for line in log]))
    return abs(_p50(done, "ttft") - float(ttft)), abs(_p50(done, "chunk_gap") - float(gap))


def _p50(done: Run, metric: str) -> float:
    summary = done.result.metric(metric)
    assert summary is not None
    percentile = summary.percentile(50)
    assert percentile is not None
    return percentile.value
