"""A run that ends as soon as its objectives are decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness import event_loop
from harness.looks import NUM_LOOKS, confidence_at
from harness.run import report, run
from harness.sla.errors import RuleError
from reports.result import Verdict
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from pathlib import Path

    from support.timetable_process import TimetableProcess

    from harness.run import Run

MOST = 1_500


def _run(url: str, folder: Path, thresholds: dict[str, list[str]], *, workers: int = 1) -> Run:
    """Objectives on the number of tokens, which a busy machine doesn't change."""
    stop = {"decided": True}
    data = {
        "name": "decided",
        "load": {"arrivals": "closed", "concurrency": 4, "requests": MOST, "stop": stop},
        "prompts": {"source": "synthetic", "length": 5},
        "sampling": {"max_tokens": 5},
        "thresholds": thresholds,
    }
    asked = run(scenario_from(data), base_url=url, result_dir=folder, reports=(), workers=workers)
    return event_loop.run(asked)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_clear_run_ends_early(timetable: TimetableProcess, tmp_path: Path, workers: int) -> None:
    done = _run(timetable.url, tmp_path / "run", {"output_tokens": ["p50 >= 2"]}, workers=workers)
    result = done.result
    assert result.verdict is Verdict.PASS
    assert result.num_requests < MOST
    assert result.looks is not None
    assert result.looks.look < NUM_LOOKS
    assert result.rules[0].confidence == confidence_at(result.looks.look, 0.95) > 0.95
    assert any("all objectives were decided" in note for note in result.notes)
    again = report(done.folder, reports=()).result
    assert (again.rules, again.rates, again.window_s) == (result.rules, result.rates, result.window_s)


def test_a_clear_miss_ends_early_as_well(timetable: TimetableProcess, tmp_path: Path) -> None:
    result = _run(timetable.url, tmp_path / "run", {"output_tokens": ["p90 <= 2"]}).result
    assert result.verdict is Verdict.FAIL
    assert result.num_requests < MOST


def test_rates_are_those_until_the_end_of_the_sending(timetable: TimetableProcess, tmp_path: Path) -> None:
    """What ends while the rest is waited for belongs to no rate."""
    done = _run(timetable.url, tmp_path / "run", {"output_tokens": ["p50 >= 2"]})
    checkpoint = done.folder.checkpoint()
    assert checkpoint.decided is not None
    end_ns = checkpoint.decided.at_ns
    assert done.result.window_s == (0, end_ns / 1e9)
    rate = done.result.rate("request_rate")
    assert rate is not None
    assert rate.numerator == sum(record.done_ns < end_ns for record in done.records)


def test_an_undecided_run_comes_to_its_end(timetable: TimetableProcess, tmp_path: Path) -> None:
    """The last look has a third of the error left, and no more."""
    result = _run(timetable.url, tmp_path / "run", {"output_tokens": ["p99.9 < 1000"]}).result
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.num_requests == MOST
    assert result.looks is not None
    assert result.looks.look == NUM_LOOKS
    assert result.rules[0].confidence == pytest.approx(1 - 0.05 / 3)


@pytest.mark.parametrize("more", [{}, {"output_tokens": ["p50 >= 2"]}])
def test_an_objective_relative_to_a_baseline_is_refused(tmp_path: Path, more: dict[str, list[str]]) -> None:
    """It is decided when the run is over: with it nothing could ever end the run early."""
    relative = {"ttft": ["p95 <= baseline + 10 %"]}
    with pytest.raises(RuleError, match=r"ttft p95 <= baseline.*decided when the run is over"):
        _run("http://127.0.0.1:9", tmp_path / "run", {**relative, **more})
    assert not (tmp_path / "run").exists()
