"""Waiting that a careless client leaves out: a server that stands still, a queue in front of a cap."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.timetable_process import TimetableProcess

from harness import event_loop
from harness.run import report, run
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from pathlib import Path

    from harness.run import Run

S, MS = 10**9, 10**6
TRIES = 3


def _run(options: tuple[str, ...], folder: Path, load: dict[str, Any], tokens: int = 2) -> Run:
    data = {
        "name": "omitted",
        "load": load,
        "prompts": {"source": "text", "text": ["one two three"]},
        "sampling": {"max_tokens": tokens},
    }
    with TimetableProcess(*options) as server:
        return event_loop.run(run(scenario_from(data), base_url=server.url, result_dir=folder, reports=()))


def _percentile(done: Run, metric: str, basis: str, p: float) -> float:
    summary = done.result.metric(metric, basis)
    assert summary is not None
    percentile = summary.percentile(p)
    assert percentile is not None
    return percentile.value


def frozen_ttft_ns() -> np.ndarray[Any, Any]:
    """10 s at 100/s, 20 ms of service, everything stands still from 5 s to 7 s: exact times."""
    due = np.arange(1_000) * 10 * MS
    begin, end = 5 * S, 7 * S
    read = np.where((due >= begin) & (due < end), end, due)
    first = read + 20 * MS
    first = np.where((first >= begin) & (first < end), end, first)
    return np.sort(first - due)


def test_R7_a_server_frozen_for_two_seconds_is_seen_by_all_who_waited(tmp_path: Path) -> None:
    """The p99 from the due times is within 5 % of an exact calculation; service time stands beside it."""
    truth = float(frozen_ttft_ns()[math.ceil(0.99 * 1_000) - 1])
    assert 1.9 * S < truth < 1.95 * S
    load = {"arrivals": "constant", "rate": 100, "duration": "10s"}
    options = ("--ttft", "20ms", "--gap", "1ms", "--freeze", "5s+2s")
    seen: list[float] = []
    while not seen or (abs(seen[-1] / truth - 1) > 0.05 and len(seen) < TRIES):
        done = _run(options, tmp_path / str(len(seen)), load)
        assert done.result.outcomes == {"ok": 1_000}
        seen.append(_percentile(done, "ttft", "response", 99))
    assert seen[-1] == pytest.approx(truth, rel=0.05), seen
    assert _percentile(done, "ttft", "service", 50) < 200 * MS


def test_A6_01_a_cap_of_one_shows_the_queue(tmp_path: Path) -> None:
    """10 arrivals at 10/s, one at a time: request i waits i x 0.4 s and is served 0.5 s."""
    load = {"arrivals": "constant", "rate": 10, "requests": 10, "max_in_flight": 1}
    for attempt in range(TRIES):
        done = _run(
            (
                "--ttft",
                "500ms",
            ),
            tmp_path / str(attempt),
            load,
            tokens=1,
        )
        assert done.result.outcomes == {"ok": 10}
        response, service = (done.result.metric("e2e", basis) for basis in ("response", "service"))
        assert response is not None
        assert service is not None
        assert response.mean is not None
        assert response.maximum is not None
        assert service.mean is not None
        seen = (response.mean / S, response.maximum / S, service.mean / S)
        if seen == pytest.approx((2.3, 4.1, 0.5), rel=0.03):
            return
    raise AssertionError(seen)


def test_A6_06_what_was_due_in_warm_up_is_in_no_latency(tmp_path: Path) -> None:
    """The first second stands still; the requests due in it end in the window and are not measured."""
    load = {"arrivals": "constant", "rate": 20, "duration": "4s", "warmup": "2s"}
    done = _run(("--ttft", "20ms", "--freeze", "0+1900ms"), tmp_path / "r", load)
    ttft = done.result.metric("ttft", "response")
    assert ttft is not None
    assert ttft.n == 40
    assert max(record.chunk_ns[0] - record.due_ns for record in done.records) > 1.5 * S
    assert ttft.maximum is not None
    assert ttft.maximum < 1.5 * S


def test_auto_warm_up_leaves_out_a_slow_beginning(tmp_path: Path) -> None:
    """All of it is left out, always. How much more depends on what else the machine does: three tries."""
    load = {"arrivals": "constant", "rate": 100, "duration": "4s", "warmup": "auto"}
    cuts = []
    for attempt in range(3):
        done = _run(("--ttft", "20ms", "--freeze", "0+800ms"), tmp_path / str(attempt), load)
        assert any("MSER-5" in note for note in done.result.notes)
        assert report(done.folder, reports=()).result == done.result
        cuts.append(done.result.window_s[0])
        if cuts[-1] < 1.6:
            break
    assert min(cuts) > 0.6
    assert cuts[-1] < 1.6, cuts


def test_cancelled_requests_are_shown_beside(tmp_path: Path) -> None:
    cancel = {"share": "25%", "after": "200ms"}
    load = {"arrivals": "constant", "rate": 50, "requests": 100, "cancel": cancel}
    done = _run(("--ttft", "20ms", "--gap", "100ms"), tmp_path / "r", load, tokens=8)
    outcomes = done.result.outcomes
    assert outcomes["ok"] + outcomes["cut"] == 100
    assert 15 <= outcomes["cut"] <= 35
    error_rate = done.result.rate("error_rate")
    assert error_rate is not None
    assert error_rate.value == 0
    assert any(f"{outcomes['cut']} requests were cancelled on purpose" in note for note in done.result.notes)


def test_a_run_stopped_early_says_why_and_does_not_pass(tmp_path: Path) -> None:
    load = {"arrivals": "constant", "rate": 100, "requests": 2_000, "stop": {"in_flight": 30}}
    done = _run(
        (
            "--ttft",
            "1s",
        ),
        tmp_path / "r",
        load,
    )
    assert done.result.num_requests < 40
    assert done.exit_code == 3
    assert any("ended early: 30 requests were in flight" in note for note in done.result.notes)
