"""R9: whatever a server sends, memory stays small, nothing of it is run, and the outcome says what it was."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from reports.result import load
from tests.robustness.conftest import scenario_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.robustness.conftest import Tokenpace

SERVER = Path(__file__).with_name("hostile_server.py")
MAX_MIB = 400
LIMITS = {"connect": "5s", "first_token": "3s", "idle": "4s", "total": "4s"}
LOAD = {"arrivals": "closed", "concurrency": 2, "requests": 2}
MEASURED = """
import atexit, sys
peak = lambda: next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
atexit.register(lambda: print("peak", int(peak().split()[1]) // 1024, "MiB", file=sys.stderr))
from harness.cli import main
main()
"""
KEY = "sk-canary-0815"

OUTCOMES = {
    "one_event_of_a_gigabyte": {"bad_response event_too_large"},
    "endless_tokens": {"timeout total", "bad_response too_many_chunks"},  # whichever comes first
    "endless_comments": {"timeout first_token", "timeout total"},  # as busy as that keeps the harness
    "endless_page": {"bad_response not_json"},
    "a_million_headers": {"bad_response framing"},
    "gzip_bomb": {"bad_response framing"},
    "nasty_error": {"http_error 500"},
}
ANSWERED = ("invalid_utf_8", "markup_and_escapes")


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[str]:
    process = subprocess.Popen([sys.executable, SERVER, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.terminate()
        process.communicate()


def attacked(harm: str, folder: Path, tokenpace: Tokenpace, *server: str) -> subprocess.CompletedProcess[str]:
    scenario = folder / "hostile.yaml"
    scenario.write_text(yaml.safe_dump(scenario_data(LOAD, timeouts=LIMITS)))
    with serving(harm, *server) as url:
        arguments = ("run", scenario, "--base-url", url, "--output", folder / "run", "--api-key", KEY)
        done = tokenpace(*arguments, code=MEASURED)
    peak = int(done.stderr.rpartition("peak ")[2].split()[0])
    assert peak < MAX_MIB, f"{peak} MiB"
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert KEY not in done.stdout + done.stderr
    for path in (folder / "run").glob("*"):
        assert KEY.encode() not in path.read_bytes(), path
    return done


@pytest.mark.parametrize("harm", OUTCOMES)
def test_R9_harm_is_bounded_and_named(harm: str, tmp_path: Path, tokenpace: Tokenpace) -> None:
    done = attacked(harm, tmp_path, tokenpace)
    result = load(tmp_path / "run" / "result.json")
    assert result.errors
    assert {f"{error.outcome} {error.detail}" for error in result.errors} <= OUTCOMES[harm]
    assert result.num_requests == 2
    assert all(len(error.sample) <= 500 for error in result.errors)
    assert done.returncode == 4


@pytest.mark.parametrize("harm", ANSWERED)
def test_R9_text_of_a_model_is_shown_and_not_run(harm: str, tmp_path: Path, tokenpace: Tokenpace) -> None:
    assert attacked(harm, tmp_path, tokenpace).returncode == 0
    result = load(tmp_path / "run" / "result.json")
    assert result.outcomes == {"ok": 2}
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "<img src=x" not in page
    assert "\x00" not in page
    assert "\x1b" not in page
    exported = tokenpace("export", tmp_path / "run")
    assert exported.returncode == 0, exported.stderr


@pytest.mark.parametrize(
    "harm", ["endless_page", "one_event_of_a_gigabyte", "a_million_headers", "gzip_bomb"]
)
def test_R9_a_list_of_models_without_end_is_refused(harm: str, tmp_path: Path, tokenpace: Tokenpace) -> None:
    """Before any load."""
    done = attacked(harm, tmp_path, tokenpace, "--even-models")
    assert done.returncode == 2
    assert "can't be used" in done.stderr
    assert not (tmp_path / "run").exists()
