"""What is refused on Locust's command line, and that nothing but its own package imports Locust."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from tests.e2e.locust.conftest import ROOT, finished, locust

_PARTS = Path(__file__).with_name("parts.py")


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """What ``parts.py`` finds in a process in which Locust is imported; a line each."""
    home = str(tmp_path_factory.mktemp("home"))
    return subprocess.run(
        [sys.executable, str(_PARTS)],
        capture_output=True,
        text=True,
        timeout=150,
        check=True,
        cwd=home,
        env={"OPENAI_API_KEY": "hidden", "PATH": "/usr/bin:/bin", "HOME": home},
    )


def test_several_processes_with_a_web_page_are_refused_before_locust_forks(
    parts: subprocess.CompletedProcess[str],
) -> None:
    assert "refused: [2, 2]" in parts.stdout
    assert "taken: True" in parts.stdout
    refusals = [line for line in parts.stderr.splitlines() if "give --headless" in line]
    for line, option in zip(refusals, ("--master", "--processes"), strict=True):
        assert f"{option} without --headless:" in line


def test_the_key_is_a_secret_of_which_the_page_is_told_nothing(
    parts: subprocess.CompletedProcess[str],
) -> None:
    """Though the environment holds it."""
    assert "secret: ['api_key'] ''" in parts.stdout


def test_the_threads_of_the_harness_are_those_of_the_system(parts: subprocess.CompletedProcess[str]) -> None:
    """One blocks and the greenlets go on. Its letters come in order, by a greenlet that may wait."""
    assert "threads: True True" in parts.stdout
    assert f"letters: {list(range(100))}" in parts.stdout


def test_a_test_that_is_stopped_before_the_run_began_waits_for_nothing(
    parts: subprocess.CompletedProcess[str],
) -> None:
    assert "stopped: GreenletExit" in parts.stdout


def test_a_run_that_cannot_begin_is_told_in_one_line() -> None:
    process = locust("127.0.0.1:1", ROOT / "scenarios" / "locustfile.py", "--scenario", "smoke")
    output, errors = finished(process)
    assert process.returncode == 2
    assert "tokenpace: http://127.0.0.1:1/v1 can't be used" in errors
    assert "Traceback" not in output + errors


def test_nothing_else_of_the_harness_imports_locust() -> None:
    """It would patch the process: neither locust nor gevent is there once all the rest has been imported."""
    folder = Path(harness.__path__[0])
    for path in folder.rglob("*.py"):
        place = path.relative_to(folder.parent)
        if place.parts[1] != "locust" and place.name not in ("__main__.py", "__init__.py"):
            importlib.import_module(".".join(place.with_suffix("").parts))
    assert {"locust", "gevent"} & set(sys.modules) == set()
