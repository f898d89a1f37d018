"""A scenario sent by Locust's workers, and judged once on its master."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest
from support.tokenpace_command import tokenpace

from harness.journal import read_journal
from harness.run import run
from harness.workers.journals import journal_of, workers_journals
from reports.result import Result, Verdict, load
from scenarios.scenario import load_scenario
from tests.e2e.locust.conftest import OWN_FLOW, ROOT, SCENARIO, finished, locust

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.timetable_process import TimetableProcess

LOCUSTFILE = ROOT / "scenarios" / "locustfile.py"
CLOCK_AHEAD = ROOT / "tests" / "data" / "locust" / "clock_ahead.py"
NAMESPACE = ("unshare", "-r", "-T", "--monotonic", "200", "--boottime", "200")
"""A monotonic clock that is 200 s ahead, as on another machine."""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def worker(port: int, locustfile: Path = LOCUSTFILE, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            *(*before, sys.executable, "-m", "locust", "-f", str(locustfile), "--worker"),
            *("--master-host", "127.0.0.1", "--master-port", str(port)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def master(port: int, url: str, scenario: Path, folder: Path, *options: object) -> subprocess.Popen[str]:
    return locust(
        *(url, LOCUSTFILE, "--master", "--expect-workers", 2, "--master-bind-host", "127.0.0.1"),
        *("--master-bind-port", port, "--scenario", scenario, "--output", folder, *options),
    )


@contextlib.contextmanager
def all_ended(*processes: subprocess.Popen[str]) -> Iterator[None]:
    """Whatever happens, none of them is left."""
    try:
        yield
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                assert stream is not None
                stream.close()


def has_other_clocks() -> bool:
    """Whether this system gives a process a monotonic clock of its own."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0


class Distributed(NamedTuple):
    """A run of a master and two workers, one of them with clocks that are 200 s ahead."""

    code: int
    output: str
    errors: str
    folder: Path
    worker_codes: list[int]

    @property
    def result(self) -> Result:
        """As the master wrote it."""
        return load(self.folder / "result.json")

    @property
    def locust_rows(self) -> dict[tuple[str, str], dict[str, str]]:
        """Locust's own statistics, by type and name."""
        with self.folder.with_name("locust_stats.csv").open() as file:
            return {(row["Type"], row["Name"]): row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def distributed(timetable: TimetableProcess, tmp_path_factory: pytest.TempPathFactory) -> Distributed:
    path, port = tmp_path_factory.mktemp("distributed"), free_port()
    scenario, folder = path / "within-locust.yaml", path / "run"
    scenario.write_text(SCENARIO)
    csvs = ("--csv", path / "locust", "--csv-full-history")
    first = master(port, timetable.url, scenario, folder, *csvs)
    workers = [worker(port), worker(port, CLOCK_AHEAD, NAMESPACE if has_other_clocks() else ())]
    with all_ended(first, *workers):
        output, errors = finished(first)
        for each in workers:
            finished(each, 30)
        return Distributed(first.returncode, output, errors, folder, [each.returncode for each in workers])


def requests(folder: Path) -> dict[int, tuple[int, int | None, int | None]]:
    """Due time, tokens of prompt and answer of each request."""
    return {
        record.index: (record.due_ns, record.prompt_tokens, record.output_tokens)
        for record in read_journal(folder / "journal.jsonl")
    }


def test_the_workers_send_together_what_one_process_sends(
    distributed: Distributed, timetable: TimetableProcess, tmp_path: Path
) -> None:
    """The same requests at the same instants, and a folder of the same form."""
    scenario = load_scenario(distributed.folder.with_name("within-locust.yaml"))
    own = asyncio.run(run(scenario, base_url=timetable.url, result_dir=tmp_path / "own"))
    assert requests(distributed.folder) == requests(tmp_path / "own")
    result = distributed.result
    assert result.outcomes == own.result.outcomes == {"ok": 120}
    assert distributed.code == result.exit_code, distributed.errors
    assert {path.name for path in distributed.folder.iterdir()} == {
        path.name for path in (tmp_path / "own").iterdir()
    }


def test_the_count_is_the_sum_of_the_workers(distributed: Distributed) -> None:
    parts = [each.num_requests for each in distributed.result.health.workers]
    assert len(parts) == 2
    assert min(parts) > 0
    assert sum(parts) == distributed.result.num_requests == 120


def test_it_is_judged_once_on_the_master(distributed: Distributed) -> None:
    (rule,) = distributed.result.rules
    assert rule.verdict is Verdict.PASS
    assert distributed.output.count("within-locust") >= 1
    assert distributed.worker_codes == [0, 0]
    assert "Traceback" not in distributed.errors


def test_what_made_the_numbers_is_said(distributed: Distributed) -> None:
    notes = " ".join(distributed.result.notes)
    assert "sent by 2 workers" in notes
    assert "from within Locust" in notes


def test_B3_03_a_clock_that_is_ahead_shifts_nothing_and_is_told(distributed: Distributed) -> None:
    """Of both workers the first and the last request are sent in the two seconds of the load."""
    records = list(read_journal(distributed.folder / "journal.jsonl"))
    for share in (0, 1):
        sent = [each.sent_ns for each in records if each.index % 2 == share and each.sent_ns is not None]
        assert -1e9 < min(sent) < max(sent) < 30e9
    assert max(point.start_s for point in distributed.result.timeline) < 60
    assert distributed.errors.count("s ahead: rates in Locust's own statistics are wrong by that") == 1


def test_B3_05_B5_05_locusts_rows_hold_every_request_of_all_workers(distributed: Distributed) -> None:
    """Also those of the last moment, and times to the first token, which its CSV files have too."""
    rows = distributed.locust_rows
    for kind in ("LLM", "TTFT", "TPOT"):
        assert rows[kind, "chat"]["Request Count"] == "120"
    assert rows["", "Aggregated"]["Request Count"] == "120"


def test_B3_06_a_full_history_is_written(distributed: Distributed) -> None:
    history = distributed.folder.with_name("locust_stats_history.csv").read_text()
    assert "Aggregated" in history
    assert distributed.code == 0


@pytest.mark.soak
def test_users_with_tasks_of_their_own_are_refused() -> None:
    port = free_port()
    options = ("--master", "--master-bind-port", port, "--master-bind-host", "127.0.0.1", "Asker", "-u", 1)
    first, second = locust("127.0.0.1:1", OWN_FLOW, *options), worker(port, OWN_FLOW)
    with all_ended(first, second):
        _, errors = finished(first, 60)
        finished(second, 30)
    assert first.returncode == 2
    assert "users with tasks of their own run in one process so far" in errors


class Begun(NamedTuple):
    """A long load that two workers send."""

    master: subprocess.Popen[str]
    workers: list[subprocess.Popen[str]]
    folder: Path


@pytest.fixture
def begun(timetable: TimetableProcess, scenario: Path, tmp_path: Path) -> Iterator[Begun]:
    port, folder = free_port(), tmp_path / "run"
    first = master(port, timetable.url, scenario, folder, "--set", "load.requests=1200")
    workers = [worker(port), worker(port)]
    with all_ended(first, *workers):
        await_journals(first, folder)
        yield Begun(first, workers, folder)


def await_journals(process: subprocess.Popen[str], folder: Path) -> None:
    """Wait until both workers' first lines have come."""
    deadline = time.monotonic() + 120
    journals = [journal_of(folder / "journal.jsonl", number) for number in range(2)]
    while not all(path.exists() for path in journals):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.soak
def test_a_killed_worker_is_named_and_the_run_invalid(begun: Begun) -> None:
    """What had come of its journal counts."""
    begun.workers[1].kill()
    finished(begun.master, 60)
    finished(begun.workers[0], 30)
    result = load(begun.folder / "result.json")
    assert begun.master.returncode == result.exit_code == Verdict.INVALID.exit_code
    (cause,) = (cause for cause in result.causes if "was lost" in cause)
    assert cause.startswith("worker ")
    records = list(read_journal(begun.folder / "journal.jsonl"))
    assert {each.index % 2 for each in records} == {0, 1}
    assert result.num_requests == len(records)


@pytest.mark.soak
def test_workers_whose_master_was_killed_leave(begun: Begun) -> None:
    """And what came is reported from the folder."""
    begun.master.kill()
    for each in begun.workers:
        _, errors = finished(each, 60)
        assert each.returncode in (1, Verdict.INVALID.exit_code)
        assert "Traceback" not in errors
    assert len(workers_journals(begun.folder / "journal.jsonl")) == 2
    assert tokenpace("report", begun.folder, "--quiet").returncode == Verdict.INVALID.exit_code


@pytest.mark.soak
def test_B3_01_a_worker_that_reports_late_is_waited_for(begun: Begun) -> None:
    """One that stands still for 5 s, while the other has long come to its end."""
    deadline = time.monotonic() + 120
    while sum(map(num_lines, workers_journals(begun.folder / "journal.jsonl"))) < 1_000:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    begun.workers[1].send_signal(signal.SIGSTOP)
    time.sleep(6)
    begun.workers[1].send_signal(signal.SIGCONT)
    finished(begun.master, 90)
    result = load(begun.folder / "result.json")
    assert result.num_requests == sum(each.num_requests for each in result.health.workers) == 1_200
    assert not any("lost" in cause for cause in result.causes)


def num_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


@pytest.mark.soak
def test_a_worker_that_is_told_to_end_says_so(begun: Begun) -> None:
    begun.workers[0].send_signal(signal.SIGTERM)
    finished(begun.master, 60)
    assert begun.master.returncode == Verdict.INVALID.exit_code
    result = load(begun.folder / "result.json")
    assert any("failed (it was ended by SIGTERM)" in cause for cause in result.causes)


@pytest.mark.soak
def test_an_interrupted_master_leaves_a_whole_partial_result(begun: Begun) -> None:
    """All processes get the signal, as from a terminal."""
    for process in (*begun.workers, begun.master):
        process.send_signal(signal.SIGINT)
    _, errors = finished(begun.master, 60)
    assert begun.master.returncode == 130, errors
    result = load(begun.folder / "result.json")
    assert result.interrupted == "SIGINT"
    assert not any("failed" in cause or "lost" in cause for cause in result.causes)
    assert result.num_requests == num_lines(begun.folder / "journal.jsonl")
