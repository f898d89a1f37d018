"""A scenario within Locust, beside the same one sent by ``tokenpace run``."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from support.tokenpace_command import start_tokenpace, tokenpace

from harness.commands.run import command
from harness.journal import read_journal
from harness.run import run
from reports.result import Result, load
from scenarios.scenario import load_scenario
from tests.e2e.locust.conftest import await_a_record, finished

if TYPE_CHECKING:
    from pathlib import Path

    from support.timetable_process import TimetableProcess

BY_LOCUST = ("--engine", "locust", "--quiet")


def tokens(folder: Path) -> dict[int, tuple[int, int | None, int | None]]:
    """Due time, tokens of prompt and answer of each request."""
    return {
        record.index: (record.due_ns, record.prompt_tokens, record.output_tokens)
        for record in read_journal(folder / "journal.jsonl")
    }


def p50_ms(result: Result, name: str) -> float:
    """Of the service time."""
    (metric,) = (each for each in result.metrics if each.name == name and each.basis in (None, "service"))
    return next(each.value for each in metric.percentiles if each.p == 50) / 1e6


def test_the_same_requests_the_same_numbers(
    scenario: Path, timetable: TimetableProcess, tmp_path: Path
) -> None:
    """Due times, prompts and answers are equal to the last one; times as near as a busy machine lets them."""
    address = ("--base-url", timetable.url)
    done = tokenpace("run", scenario, *address, *BY_LOCUST, "--output", tmp_path / "locust")
    assert not done.stderr
    own = asyncio.run(run(load_scenario(scenario), base_url=timetable.url, result_dir=tmp_path / "own"))
    locust = load(tmp_path / "locust" / "result.json")
    assert tokens(tmp_path / "locust") == tokens(tmp_path / "own")
    assert len(tokens(tmp_path / "own")) == 120
    assert locust.outcomes == own.result.outcomes == {"ok": 120}
    assert done.returncode == locust.exit_code
    assert {path.name for path in (tmp_path / "locust").iterdir()} == {
        path.name for path in (tmp_path / "own").iterdir()
    }
    for name in ("ttft", "itl"):
        assert abs(p50_ms(locust, name) - p50_ms(own.result, name)) < 25


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_a_marked_result(
    number: signal.Signals, scenario: Path, timetable: TimetableProcess, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    process = start_tokenpace(
        *("run", scenario, "--base-url", timetable.url, *BY_LOCUST),
        *("--set", "load.requests=6000", "--output", folder),
    )
    await_a_record(process, folder)
    process.send_signal(number)
    _, errors = finished(process)
    assert process.returncode == 128 + number, errors
    result = load(folder / "result.json")
    assert result.interrupted == number.name
    assert 0 < result.outcomes["ok"] < 6_000


@pytest.mark.soak
def test_several_processes_of_locusts(scenario: Path, timetable: TimetableProcess, tmp_path: Path) -> None:
    arguments = ("--base-url", timetable.url, *BY_LOCUST, "--workers", 2, "--output", tmp_path / "run")
    done = tokenpace("run", scenario, *arguments)
    result = load(tmp_path / "run" / "result.json")
    assert done.returncode == result.exit_code, done.stderr
    assert not done.stderr
    assert [each.num_requests for each in result.health.workers] == [60, 60]
    assert result.outcomes == {"ok": 120}


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [("--workers", "0", "workers: '0' can't be had"), ("--proxy", "http://127.0.0.1:1", "leave --proxy out")],
)
def test_what_the_engine_cannot_do_is_refused(scenario: Path, option: str, value: str, told: str) -> None:
    """Before Locust is even started."""
    options = ["--base-url", "127.0.0.1:1", *BY_LOCUST, option, value]
    done = CliRunner().invoke(command, [str(scenario), *options])
    assert done.exit_code == 2
    assert told in done.output
