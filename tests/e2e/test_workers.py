"""A load sent by several processes leaves what one process leaves, whatever happens to them."""

from __future__ import annotations

import json
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from support.timetable_process import TimetableProcess
from support.tokenpace_command import FULL_AT_30_000_BYTES, start_tokenpace, tokenpace

from harness import event_loop
from harness.journal import read_journal
from harness.result_folder import ResultFolder
from harness.run import report, run
from harness.workers.journals import journal_of, read_records
from reports.result import Verdict, load
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from harness.run import Run

S = 10**9
SCENARIO = """
schema: 1
name: shared
load: {arrivals: constant, rate: 100, requests: 6000}
prompts: {source: text, text: [one two three, four five]}
sampling: {max_tokens: 4}
thresholds:
  ttft: ["p95 < 5s"]
"""


def _run(url: str, folder: Path, load: dict[str, Any], workers: int, **keys: Any) -> Run:
    data = {
        "name": "shared",
        "load": load,
        "prompts": {"source": "synthetic", "length": {"min": 3, "max": 9}},
        "sampling": {"max_tokens": 5},
        "thresholds": {"ttft": ["p95 < 5s"]},
        "seed": 3,
        **keys,
    }
    asked = run(scenario_from(data), base_url=url, result_dir=folder, reports=(), workers=workers)
    return event_loop.run(asked)


def _tokens(done: Run) -> dict[str, Any]:
    tokens = {name: done.result.metric(name) for name in ("output_tokens", "prompt_tokens")}
    return {name: (each.n, each.mean, each.percentiles) for name, each in tokens.items() if each}


def test_requests_and_tokens_are_those_of_one_process(timetable: TimetableProcess, tmp_path: Path) -> None:
    """The same requests, due at the same instants, with the same answers; one folder as ever."""
    load = {"arrivals": "poisson", "rate": 80, "requests": 120}
    one = _run(timetable.url, tmp_path / "one", load, 1)
    many = _run(timetable.url, tmp_path / "many", load, 3)
    assert many.result.outcomes == one.result.outcomes == {"ok": 120}
    assert _tokens(many) == _tokens(one)
    plans = [
        sorted((each.index, each.due_ns, each.prompt_tokens) for each in done.records) for done in (one, many)
    ]
    assert plans[0] == plans[1]
    names = [{path.name for path in done.folder.path.iterdir()} for done in (one, many)]
    assert names[0] == names[1]
    assert not any("worker" in cause for cause in many.result.causes)
    assert any("sent by 3 workers" in note for note in many.result.notes)


def test_each_worker_does_its_share(timetable: TimetableProcess, tmp_path: Path) -> None:
    """What the run counted is the sum of what they did, and each says how it felt."""
    done = _run(timetable.url, tmp_path / "r", {"arrivals": "constant", "rate": 100, "requests": 101}, 4)
    health = done.result.health
    assert [each.num_requests for each in health.workers] == [26, 25, 25, 25]
    assert health.cpu_share == pytest.approx(sum(each.cpu_share for each in health.workers))
    assert health.loop_lag_p99 == max(each.loop_lag_p99 for each in health.workers)
    assert health.planned_rate == pytest.approx(100)
    assert done.result.num_requests == 101
    assert [each.index for each in done.result.samples] == [0, 1, 2]


def test_the_journal_gives_the_same_result_again(timetable: TimetableProcess, tmp_path: Path) -> None:
    """In the order of the ends, as the journal of one process; also where only the end tells the window."""
    load = {"arrivals": "constant", "rate": 100, "requests": 150, "warmup_requests": 40}
    done = _run(timetable.url, tmp_path / "r", load, 3)
    before = {path.name: path.read_bytes() for path in done.folder.path.iterdir()}
    again = report(done.folder, reports=())
    assert again.result == done.result
    assert {path.name: path.read_bytes() for path in done.folder.path.iterdir()} == before
    ends = [each.done_ns for each in done.records]
    assert ends == sorted(ends)


def test_slots_of_a_closed_loop_are_shared_out(timetable: TimetableProcess, tmp_path: Path) -> None:
    """Never more in flight than slots, each opened at its time of the ramp, and every request sent."""
    slow = {"max_tokens": 5, "extra_body": {"timetable": {"ttft": "1s"}}}
    load = {"arrivals": "closed", "concurrency": 5, "ramp": "1s", "requests": 15}
    done = _run(timetable.url, tmp_path / "r", load, 2, sampling=slow)
    records = list(done.records)
    assert sorted(each.index for each in records) == list(range(15))
    assert max(point.in_flight for point in done.result.timeline) <= 5
    opened = sorted(each.due_ns / S for each in records)[:5]
    assert opened == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8], abs=0.15)


def test_conversations_stay_together(timetable: TimetableProcess, tmp_path: Path) -> None:
    """All turns are sent, each after the answer before it."""
    prompts = {"source": "conversation", "turns": 3, "length": 4}
    load = {"arrivals": "closed", "concurrency": 4, "requests": 60}
    done = _run(timetable.url, tmp_path / "r", load, 2, prompts=prompts)
    assert done.result.outcomes == {"ok": 60}
    at = {each.index: each for each in done.records}
    assert all(at[first + 1].due_ns >= at[first].done_ns for first in range(0, 60, 3))


def test_a_limit_is_passed_by_all_together(timetable: TimetableProcess, tmp_path: Path) -> None:
    """Thirty in flight in all, which no worker alone has; what was in flight comes to its end."""
    slow = {"max_tokens": 5, "extra_body": {"timetable": {"ttft": "1500ms"}}}
    load = {"arrivals": "constant", "rate": 60, "requests": 2_000, "stop": {"in_flight": 30}}
    done = _run(timetable.url, tmp_path / "r", load, 3, sampling=slow)
    assert 30 <= done.result.num_requests < 90
    assert done.result.outcomes == {"ok": done.result.num_requests}
    assert any("ended early: 30 requests were in flight" in note for note in done.result.notes)
    assert done.exit_code == 3


def test_idle_workers_are_not_started(timetable: TimetableProcess, tmp_path: Path) -> None:
    load = {"arrivals": "closed", "concurrency": 1, "requests": 3}
    done = _run(timetable.url, tmp_path / "r", load, 4)
    assert any(note.startswith("1 worker instead of 4") for note in done.result.notes)
    assert done.result.health.workers == ()


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "shared.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def started(timetable: TimetableProcess, scenario: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A command with two workers in the middle of its load; its folder is ``r``."""
    folder = tmp_path / "r"
    arguments = ("--base-url", timetable.url, "--output", folder, "--workers", "2")
    process = start_tokenpace("run", scenario, *arguments, OPENAI_API_KEY="sk-canary-4711")
    deadline = time.monotonic() + 90
    journals = [journal_of(folder / "journal.jsonl", worker) for worker in range(2)]
    while not all(path.exists() and path.stat().st_size > 10_000 for path in journals):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield process
    if process.poll() is None:
        process.kill()
        process.communicate()


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Its workers, in order of the journals they write."""
    journals = {}
    for child in psutil.Process(process.pid).children():
        journals |= {file.path: child for file in child.open_files() if "journal-" in file.path}
    return [journals[path] for path in sorted(journals)]


def wait_until_gone(workers: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(workers, timeout=15)
    assert alive == []


def test_a_killed_worker_is_named_and_the_run_invalid(started: subprocess.Popen[str], tmp_path: Path) -> None:
    """It ends soon; of the dead worker counts what its journal kept. A9-01: the key is on no command line."""
    workers = workers_of(started)
    assert not any("sk-canary" in word for worker in workers for word in worker.cmdline())
    kept = len(journal_of(tmp_path / "r" / "journal.jsonl", 1).read_bytes().splitlines())
    workers[1].kill()
    killed_s = time.monotonic()
    out, errors = started.communicate(timeout=30)
    assert time.monotonic() - killed_s < 20
    assert started.returncode == 4, errors
    assert "worker 2 of 2 was lost (killed by SIGKILL)" in out
    assert "Traceback" not in errors
    result = load(tmp_path / "r" / "result.json")
    assert result.verdict is Verdict.INVALID
    assert any("worker 2 of 2 was lost" in cause for cause in result.causes)
    assert not any("were sent where" in cause for cause in result.causes)
    records = list(read_records(tmp_path / "r" / "journal.jsonl"))
    assert result.num_requests == len(records)
    assert sum(each.index % 2 == 1 for each in records) >= kept - 1
    assert {path.name for path in (tmp_path / "r").glob("journal*")} == {"journal.jsonl"}
    assert report_again(tmp_path / "r") == 4
    wait_until_gone(workers)


def report_again(folder: Path) -> int:
    """Exit code of ``tokenpace report``, which must change no file."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = tokenpace("report", folder, "-q")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    return done.returncode


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_R1_a_signal_leaves_a_whole_partial_result(
    started: subprocess.Popen[str], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """As from a terminal or a service manager: all processes of the run get it."""
    workers = workers_of(started)
    for worker in workers:
        worker.send_signal(number)
    started.send_signal(number)
    told_s = time.monotonic()
    _, errors = started.communicate(timeout=30)
    assert time.monotonic() - told_s < 15
    assert started.returncode == code, errors
    result = load(tmp_path / "r" / "result.json")
    assert result.interrupted == number.name
    assert not any("lost" in cause for cause in result.causes)
    assert result.num_requests == sum(1 for _ in read_records(tmp_path / "r" / "journal.jsonl"))
    assert not list((tmp_path / "r").glob("*.tmp"))
    assert report_again(tmp_path / "r") == code
    wait_until_gone(workers)


@pytest.mark.parametrize("everything", [True, False])
def test_R1_what_was_killed_is_reported_from_the_workers_journals(
    started: subprocess.Popen[str], tmp_path: Path, *, everything: bool
) -> None:
    """At most the last second is lost; workers whose run was killed end by themselves."""
    workers, folder = workers_of(started), ResultFolder(tmp_path / "r")
    killed_ns = time.monotonic_ns() - folder.checkpoint().started_ns
    for process in (*workers, started) if everything else (started,):
        process.kill()
    started.communicate()
    wait_until_gone(workers)
    for worker in range(2):
        ends = [record.done_ns for record in read_journal(journal_of(folder.journal_path, worker))]
        assert max(ends) > killed_ns - 1.5 * S
    records = list(read_records(folder.journal_path))
    assert max(record.sent_ns or 0 for record in records) < killed_ns + 5 * S
    done = tokenpace("report", folder.path)
    result = load(folder.result_path)
    assert done.returncode == result.exit_code == 4
    assert result.num_requests == len(records) > 30
    assert "broken off" in result.notes[0]


def test_a_frozen_worker_does_not_hold_up_the_end(started: subprocess.Popen[str], tmp_path: Path) -> None:
    """Stopped, it hears nothing; told to end, it is killed in time and counts as lost."""
    frozen = workers_of(started)[0]
    frozen.suspend()
    started.send_signal(signal.SIGINT)
    started.communicate(timeout=40)
    assert started.returncode == 130
    result = load(tmp_path / "r" / "result.json")
    assert any("worker 1 of 2 was lost (killed by SIGKILL)" in cause for cause in result.causes)
    wait_until_gone([frozen])


def test_R2_a_full_disk_keeps_what_was_measured(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path
) -> None:
    """One message, the summary all the same, and every line of the workers' journals whole."""
    folder = tmp_path / "r"
    arguments = ("run", scenario, "--base-url", timetable.url, "--output", folder, "--workers", "2")
    done = tokenpace(*arguments, code=FULL_AT_30_000_BYTES)
    assert done.returncode == 4, done.stderr
    assert "cannot be written" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert "Metrics" in done.stdout
    records = list(read_records(folder / "journal.jsonl"))
    assert len(records) > 40
    for path in folder.glob("journal*"):
        assert all(json.loads(line) for line in path.read_bytes().splitlines())


def test_R3_every_request_to_a_dead_server_is_accounted_for(tmp_path: Path) -> None:
    """Those before the kill, those it cut off, those that found nobody, in all workers together."""
    with TimetableProcess("--ttft", "100ms", "--gap", "5ms") as server:

        def kill_half_way() -> None:
            server.log(100)
            server.end(signal.SIGKILL)

        killing = threading.Thread(target=kill_half_way)
        killing.start()
        done = _run(server.url, tmp_path / "r", {"arrivals": "constant", "rate": 100, "requests": 250}, 2)
        killing.join()
    outcomes = done.result.outcomes
    assert sum(outcomes.values()) == done.result.num_requests == 250
    assert {each.index for each in done.records} == set(range(250))
    assert outcomes["ok"] >= 100
    assert set(outcomes) <= {"ok", "reset", "truncated", "connect_error"}
    assert done.result.verdict is not Verdict.PASS


@pytest.mark.parametrize("workers", ["0", "many", "1000"])
def test_no_such_number_of_workers(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path, workers: str
) -> None:
    arguments = ("--base-url", timetable.url, "--output", tmp_path / "r", "--workers", workers)
    done = tokenpace("run", scenario, *arguments)
    assert done.returncode == 2
    assert "give 1 to 256, or auto" in done.stderr
    assert not (tmp_path / "r").exists()


def test_R1_a_signal_while_workers_start_ends_the_run(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path
) -> None:
    """Nobody is waited for, nothing is left behind, and the folder says what it holds: nothing."""
    folder = tmp_path / "r"
    arguments = ("run", scenario, "--base-url", timetable.url, "--output", folder, "--workers", "2")
    process = start_tokenpace(*arguments)
    deadline = time.monotonic() + 60
    while not (workers := psutil.Process(process.pid).children()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert load(folder / "result.json").num_requests == 0
    assert {path.name for path in folder.glob("journal*")} == {"journal.jsonl"}
    wait_until_gone(workers)
