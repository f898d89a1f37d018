"""``tokenpace run`` and ``tokenpace report`` as a user calls them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.timetable_process import TimetableProcess
from support.tokenpace_command import tokenpace

from reports.result import Verdict, load

if TYPE_CHECKING:
    from pathlib import Path


def test_a_run_leaves_verdict_and_reports(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "result"
    done = tokenpace("run", scenario, "--base-url", timetable.url, "--output", folder)
    assert done.returncode == 0, done.stderr
    assert "PASS" in done.stdout
    result = load(folder / "result.json")
    assert result.verdict is Verdict.PASS
    assert result.outcomes == {"ok": 200}
    assert {path.name for path in folder.iterdir()} >= {
        "manifest.json",
        "journal.jsonl",
        "checkpoint.json",
        "result.json",
        "histograms.hlog",
        "report.html",
        "junit.xml",
    }
    assert not list(folder.glob("*.tmp"))
    assert "one two three" in (folder / "report.html").read_text()


def test_reports_are_made_again_from_the_journal(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path
) -> None:
    """Everything right of the record comes out the same, byte for byte, without result.json."""
    folder = tmp_path / "result"
    assert tokenpace("run", scenario, "--base-url", timetable.url, "--output", folder, "-q").returncode == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "result.json").unlink()
    (folder / "report.html").unlink()
    assert tokenpace("report", folder, "-q").returncode == 0
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] != after[name]] == []


def test_environment_names_the_endpoint(timetable: TimetableProcess, scenario: Path, tmp_path: Path) -> None:
    done = tokenpace("run", scenario, "--output", tmp_path / "r", "-q", OPENAI_BASE_URL=timetable.url)
    assert done.returncode == 0, done.stderr


def test_a_missed_objective_exits_with_1(timetable: TimetableProcess, scenario: Path, tmp_path: Path) -> None:
    slow = ("--set", "sampling.extra_body={timetable: {ttft: 400ms}}")
    missed = (*slow, "--set", "thresholds.ttft=[p95 < 1ms]")
    done = tokenpace("run", scenario, "--base-url", timetable.url, "--output", tmp_path / "r", *missed)
    assert done.returncode == 1
    assert "FAIL" in done.stdout


def test_B2_05_a_p99_of_twenty_samples_is_inconclusive(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path
) -> None:
    few = ("--set", "load.requests=20", "--set", "load.rate=20", "--set", "thresholds.ttft=[p99 < 5s]")
    done = tokenpace("run", scenario, "--base-url", timetable.url, "--output", tmp_path / "r", *few)
    assert done.returncode == 3, done.stdout
    (rule,) = json.loads((tmp_path / "r" / "result.json").read_bytes())["rules"]
    assert rule["more_needed"] >= 279


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "lode.rate=3"], "did you mean 'load'?"),
        (["--set", "load.rate=fast"], "load.rate"),
        (["--set", "thresholds.tttf=[p95 < 1s]"], "did you mean 'ttft'?"),
        (["--set", "thresholds.ttft=[p95 < 500]"], "500"),
        (["--model", "gpt-9"], "doesn't serve model 'gpt-9'"),
        (["--set", "prompts.text=['']"], "prompts.text"),
        (["--base-url", "ftp://nowhere"], "ftp://"),
        (["--header", "nonsense"], "--header"),
        (["--report", "pdf"], "pdf"),
        (["--raet", "5"], "--raet"),
    ],
)
def test_bad_usage_is_one_clear_message(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    """Exit code 2, nothing sent, nothing on disk, no stack trace."""
    sent_before = len(timetable.get("/timetable/log?after=0").body.splitlines())
    base = ["run", scenario, "--base-url", timetable.url, "--output", tmp_path / "r"]
    done = tokenpace(*base, *arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "r").exists()
    assert len(timetable.get("/timetable/log?after=0").body.splitlines()) == sent_before


def test_unreachable_server(scenario: Path, tmp_path: Path) -> None:
    done = tokenpace("run", scenario, "--base-url", "http://127.0.0.1:9", "--output", tmp_path / "r")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "is the server running there?" in done.stderr


def test_a_full_folder_is_not_written_over(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious.txt").write_text("keep me")
    done = tokenpace("run", scenario, "--base-url", timetable.url, "--output", tmp_path / "mine")
    assert done.returncode == 2
    assert "holds files already" in done.stderr
    assert (tmp_path / "mine" / "precious.txt").read_text() == "keep me"


def test_the_key_is_nowhere(timetable: TimetableProcess, scenario: Path, tmp_path: Path) -> None:
    """A9-01, A9-03: neither in output nor in any file of the result."""
    secret = "sk-canary-4711"
    address = timetable.url.replace("http://", f"http://user:{secret}@") + f"/v1?api-key={secret}"
    done = tokenpace(
        *(
            "run",
            scenario,
            "--base-url",
            address,
            "--output",
            tmp_path / "r",
            "--header",
            f"X-Api-Key: {secret}",
        ),
        OPENAI_API_KEY=secret,
    )
    assert done.returncode == 0, done.stderr
    assert secret not in done.stdout + done.stderr
    assert [path.name for path in (tmp_path / "r").iterdir() if secret.encode() in path.read_bytes()] == []


def test_users_left_waiting_are_no_pass(timetable: TimetableProcess, scenario: Path, tmp_path: Path) -> None:
    """Half the requests are cut while they wait for their first token: the other half can't pass for all."""
    slow = "{timetable: {ttft: 20ms, tail_share: 0.5, tail_factor: 500}}"
    keys = ("load.grace=1s", f"sampling.extra_body={slow}", "thresholds.ttft=[p50 < 900ms]")
    sets = [argument for key in keys for argument in ("--set", key)]
    done = tokenpace("run", scenario, "--base-url", timetable.url, "--output", tmp_path / "r", *sets)
    result = load(tmp_path / "r" / "result.json")
    assert result.outcomes["cut"] > 50
    assert done.returncode == 4
    assert "still waiting when the run ended" in done.stdout


def test_A4_08_smoke_fails_where_a_request_does(tmp_path: Path) -> None:
    with TimetableProcess("--fault", "http_500=0.3", "--seed", "3") as server:
        done = tokenpace("run", "smoke", "--base-url", server.url, "--output", tmp_path / "r")
    assert done.returncode == 1, done.stdout
    assert "error_rate" in done.stdout


def test_smoke_fails_where_no_answer_has_a_token(tmp_path: Path) -> None:
    with TimetableProcess("--tokens", "0") as server:
        done = tokenpace("run", "smoke", "--base-url", server.url, "--output", tmp_path / "r")
    assert done.returncode not in (0, 2), done.stdout
