"""What is made of a client's claims and the server's log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks import cells
from benchmarks.peers import Claims, Quantiles, RequestTimes
from benchmarks.process_tree import Usage
from benchmarks.tables import markdown
from benchmarks.timetable import Truth

MS = 1_000_000
USAGE = Usage(0, 3.0, 2.0, 90.0, [0, 1000 * MS, 2000 * MS], [0.0, 1.0, 2.0])


def line(index: int, arrival_ms: float, tokens: int = 3, **fields: Any) -> dict[str, Any]:
    """50 ms to the first token, 10 ms to the others."""
    stamps = [round((arrival_ms + 50 + 10 * i) * MS) for i in range(tokens)]
    known = {
        "index": index,
        "request_id": f"run-{index}",
        "outcome": "ok",
        "arrival_ns": round(arrival_ms * MS),
        "token_ns": stamps,
        "done_ns": stamps[-1],
        "max_late_ns": 20_000,
    }
    return {**known, **fields}


def test_errors_are_claim_minus_truth_of_the_same_percentile() -> None:
    claims = Claims(2, Quantiles(51.0, 53.0), Quantiles(9.0, 12.0))
    found = cells.figures(cells.accuracy(1), claims, Truth([line(1, 300), line(0, 0)]), USAGE)
    assert found["ttft p50 error"] == 1.0
    assert found["ttft p99 error"] == 3.0
    assert found["gap p50 error"] == -1.0
    assert found["gap p99 error"] == 2.0
    assert found["server late max"] == 0.02
    assert "each ttft p50" not in found


def test_requests_are_compared_one_by_one_where_errors_could_cancel_out() -> None:
    """Both sides have the same percentiles, and each request is 10 ms off."""
    requests = [
        RequestTimes("-0", 60 * MS, [11 * MS, 9 * MS]),
        RequestTimes("-1", 50 * MS, [10 * MS, 10 * MS]),
    ]
    truth = Truth([line(0, 0), line(1, 300, token_ns=[360 * MS, 370 * MS, 380 * MS])])
    claims = Claims(2, Quantiles(50.0, 60.0), Quantiles(10.0, 11.0), None, requests)
    found = cells.figures(cells.accuracy(1), claims, truth, USAGE)
    assert found["ttft p50 error"] == found["ttft p99 error"] == 0
    assert (found["each ttft p50"], found["each ttft p99"]) == (-10.0, 10.0)
    assert found["each |gap| p99"] == 1.0


def test_cpu_of_the_load_is_told_apart_from_that_before_and_after() -> None:
    """500 ms of load in a client that takes one core all the time."""
    truth = Truth([line(0, 200), line(1, 630)])
    found = cells.figures(cells.accuracy(1), Claims(2, None, None), truth, USAGE)
    assert found["cpu us/chunk"] == pytest.approx(0.5 / 6 * 1e6)
    assert found["cpu s before and after"] == pytest.approx(1.5)


def test_only_answers_that_made_room_for_another_request_count_as_digested() -> None:
    """Two streams, three requests each, one every 100 ms: four answers by the time of the last arrival."""
    truth = Truth([line(i, 100 * (i // 2), tokens=128) for i in range(6)])
    cell = cells.ceiling(2)._replace(num_requests=6)
    assert cells.figures(cell, Claims(6, None, None), truth, USAGE)["chunks/s"] == pytest.approx(
        4 * 128 / 0.2
    )


def test_requests_that_failed_at_the_server_are_left_out() -> None:
    truth = Truth([line(0, 0), line(1, 100, outcome="client_left")])
    assert (len(truth.lines), truth.num_failed) == (1, 1)


def test_streams_seen_is_the_mean_of_the_middle_of_the_run() -> None:
    lines = [line(i, 0, tokens=100) for i in range(3)] + [line(3, 0, tokens=1, done_ns=60 * MS)]
    assert Truth(lines).concurrency == pytest.approx(3, abs=0.01)


def test_poisson_arrivals_pass_and_even_ones_do_not() -> None:
    even = Truth([line(i, 5 * i) for i in range(400)])
    found = cells.figures(cells.open_loop(2), Claims(400, None, None), even, USAGE)
    assert found["arrivals/s"] == pytest.approx(200)
    assert found["arrival gaps p"] < 1e-6
    random = np.random.default_rng(1).exponential(5.0, 400).cumsum()
    poisson = Truth([line(i, at) for i, at in enumerate(random)])
    found = cells.figures(cells.open_loop(2), Claims(400, None, None), poisson, USAGE)
    assert found["arrival times p"] > 0.01
    assert found["arrival gaps p"] > 0.01


def test_a_plan_is_told_apart_from_what_became_of_it() -> None:
    """A Poisson plan, and a client that can't send two requests within 1 ms: the plan is no worse for it."""
    plan_ms = np.random.default_rng(1).exponential(5.0, 4_000).cumsum()
    sent_ms, free_ms = [], 0.0
    for due_ms in plan_ms:
        sent_ms.append(max(due_ms, free_ms))
        free_ms = sent_ms[-1] + 1.0
    truth = Truth([line(i, at) for i, at in enumerate(sent_ms)])
    requests = [RequestTimes(f"r-{i}", 0, [10 * MS] * 2, round(due * MS)) for i, due in enumerate(plan_ms)]
    found = cells.figures(cells.open_loop(20), Claims(4_000, None, None, None, requests), truth, USAGE)
    assert found["arrival gaps p"] < 1e-6
    assert min(found["plan gaps p"], found["plan times p"]) > 0.01
    off_ms = np.sort(np.array(sent_ms) - plan_ms)
    assert found["off plan max"] == pytest.approx(off_ms[-1], abs=1e-5)
    assert found["off plan p99"] == pytest.approx(off_ms[3_959], abs=1e-5)
    silent = Claims(4_000, None, None, None, [each._replace(due_ns=None) for each in requests])
    assert "plan gaps p" not in cells.figures(cells.open_loop(20), silent, truth, USAGE)


def test_further_chunks_are_charged_with_all_that_they_bring() -> None:
    """A client that digests only when the load is over takes time all the same."""
    small = {"chunks": 1e6, "wall s": 10.0, "cpu s": 9.0, "peak MB": 100.0}
    large = {"chunks": 4e6, "wall s": 40.0, "cpu s": 36.0, "peak MB": 103.0}
    assert cells.growth(small, large) == {
        "further chunks/s": 100_000,
        "cpu us/further chunk": 9.0,
        "MB/million chunks": 1.0,
    }


def test_medians_are_taken_figure_by_figure() -> None:
    assert cells.medians([{"a": 1, "b": 9}, {"a": 2, "b": 1}, {"a": 9, "b": 2}]) == {"a": 2, "b": 2}


def test_table_leaves_out_columns_that_nobody_has() -> None:
    table = markdown("open", {"x": {"arrivals/s": 199.5, "requests ok": 6000}, "y": {"arrivals/s": 35.0}})
    assert [cell.strip() for cell in table.splitlines()[0].strip("|").split("|")] == [
        "client",
        "arrivals/s",
        "requests ok",
    ]
    assert "| x      | 199        | 6,000       |" in table or "| 200 " in table
    assert table.splitlines()[-1].rstrip().endswith("-           |")
