"""Users with tasks of their own, in Locust's own closed loop."""

from __future__ import annotations

import csv
import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from harness.journal import read_journal
from reports.result import Result, Verdict, load
from tests.e2e.locust.conftest import OWN_FLOW, SCENARIO, await_a_record, finished, locust

if TYPE_CHECKING:
    from pathlib import Path

    from support.timetable_process import TimetableProcess

    from harness.record import Record

Row = dict[str, str]


class Done:
    """A test of Locust that is over."""

    def __init__(self, folder: Path, code: int, errors: str) -> None:
        self.code = code
        self.errors = errors
        self.result: Result = load(folder / "run" / "result.json")
        self.manifest: Any = json.loads((folder / "run" / "manifest.json").read_bytes())
        self.records: list[Record] = list(read_journal(folder / "run" / "journal.jsonl"))
        with (folder / "locust_stats.csv").open() as lines:
            self.rows: dict[tuple[str, str], Row] = {
                (row["Type"], row["Name"]): row for row in csv.DictReader(lines)
            }


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, timetable: TimetableProcess) -> Done:
    """Askers and visitors for four seconds, ended by the shape."""
    folder = tmp_path_factory.mktemp("own-flow")
    scenario = folder / "judged.yaml"
    scenario.write_text(SCENARIO)
    process = locust(
        timetable.url,
        OWN_FLOW,
        *("--scenario", scenario, "--output", folder / "run", "--tags", "slow"),
        *("--csv", folder / "locust"),
    )
    _, errors = finished(process)
    return Done(folder, process.returncode, errors)


def test_A1_06_the_rows_are_the_whole_answer_and_its_first_token(done: Done) -> None:
    """The response head comes at once, the first token at 500 ms, the end at 2.5 s."""
    whole, first = done.rows["LLM", "slow"], done.rows["TTFT", "slow"]
    assert 2_490 <= float(whole["Average Response Time"]) < 6_000
    assert 490 <= float(first["Average Response Time"]) < 2_400
    assert whole["Request Count"] == first["Request Count"] == str(done.result.outcomes["ok"])
    assert int(whole["Request Count"]) >= 1


def test_B1_06_a_shape_that_ends_ends_the_run_and_the_verdict_is_the_exit_code(done: Done) -> None:
    """Too few requests for a PASS; on a busy machine not even to be trusted. Locust alone ends with 0."""
    assert done.result.verdict in (Verdict.INCONCLUSIVE, Verdict.INVALID)
    assert done.code == done.result.exit_code != 0, done.errors
    assert done.result.interrupted is None


def test_an_ordinary_user_beside_it_is_none_of_the_run(done: Done) -> None:
    """Locust counts both, its total only whole requests; the run is that of the model's users."""
    visits = int(done.rows["GET", "/v1/models"]["Request Count"])
    asked = int(done.rows["LLM", "slow"]["Request Count"])
    assert visits >= 1
    assert int(done.rows["", "Aggregated"]["Request Count"]) == visits + asked
    assert {record.index for record in done.records} == set(range(len(done.records)))
    assert set(done.result.outcomes) <= {"ok", "cut"}


def test_what_users_leave_at_the_end_is_cut_by_the_end(done: Done) -> None:
    cut = [record for record in done.records if record.outcome == "cut"]
    assert len(cut) <= 2
    assert [record.detail for record in cut] == [""] * len(cut)


def test_the_result_says_who_made_the_load(done: Done) -> None:
    assert done.manifest["scenario"]["load"] == {
        "arrivals": "locust",
        "users": None,
        "shape": "FourSeconds",
        "classes": ["Asker", "Visitor"],
    }
    assert done.manifest["loop"] == "closed"
    assert any("within Locust" in note for note in done.result.notes)


def test_an_interrupt_leaves_a_marked_result(timetable: TimetableProcess, tmp_path: Path) -> None:
    """Without a scenario: then there are no objectives, and 130 tells of the interrupt."""
    process = locust(timetable.url, OWN_FLOW, "--output", tmp_path / "run", "--tags", "other", "--no-summary")
    await_a_record(process, tmp_path / "run")
    process.send_signal(signal.SIGINT)
    _, errors = finished(process)
    assert process.returncode == 130, errors
    result = load(tmp_path / "run" / "result.json")
    assert result.interrupted == "SIGINT"
    assert result.outcomes["ok"] >= 1
    assert (tmp_path / "run" / "report.html").exists()
