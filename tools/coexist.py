"""Does the pytest plugin live at peace with the usual ones? Installs them all together and looks.

    python tools/coexist.py [FOLDER]

FOLDER gets an environment of its own, made once, and a project that uses each plugin; by default it is a
temporary one. Whatever goes wrong ends this program with an error.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLUGINS = (
    "pytest-xdist",
    "pytest-html",
    "pytest-metadata",
    "pytest-timeout",
    "pytest-benchmark",
    "pytest-base-url",
    "pytest-asyncio",
    "locust",
)
INI = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
addopts = --strict-markers
"""
TESTS = """
import pytest

@pytest.fixture(scope="session")
def steady(load_session):
    return load_session(concurrency=1, requests=30, prompts="Hi", max_tokens=8)

@pytest.mark.sla(error_rate="<50%", output_tokens_p50=">=1")
@pytest.mark.timeout(60)
def test_sync(load, metadata):
    assert len(load(concurrency=1, requests=10, prompts="Hi", max_tokens=8).requests) == 10

@pytest.mark.sla(output_tokens_p50=">=1")
async def test_async(load):
    assert len((await load(concurrency=1, requests=10, prompts="Hi", max_tokens=8)).requests) == 10

@pytest.mark.sla(output_tokens_p50=">=1")
@pytest.mark.parametrize("n", range(3))
def test_shared(steady, n, base_url):
    assert len(steady.requests) == 30

def test_subtests(steady, subtests):
    for p in (50, 90):
        with subtests.test("tokens", p=p):
            assert steady.output_tokens.p(p) >= 1

def test_benchmark(benchmark):
    benchmark(sum, range(10))

async def test_plain_async():
    pass

@pytest.mark.parametrize("n", range(4))
def test_plain(n):
    pass
"""
NUM_TESTS, NUM_REQUESTS = 12, 10 + 10 + 30


def main(folder: Path) -> None:
    """Run every check."""
    python = _environment(folder / "venv")
    project = folder / "project"
    project.mkdir(exist_ok=True)
    (project / "pytest.ini").write_text(INI)
    (project / "test_all.py").write_text(TESTS)
    _say("starts without a warning, takes no option or fixture of another's")
    _pytest(python, project, "--help", "-W", "error")
    _pytest(python, project, "--fixtures", "-q", "-W", "error")
    with subprocess.Popen(
        [python, "-m", "reference_server.timetable", "--port", "0", "--tokens", "8"],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            _with_server(python, project, server.stdout.readline().split()[-1])
        finally:
            server.terminate()
    _say("all is well")


def _with_server(python: Path, project: Path, url: str) -> None:
    for options in ((), ("-n", "2", "--benchmark-disable")):
        before = _num_requests(url)
        _say(f"passes with {' '.join(options) or 'one process'}; the server sees each load once")
        out = _pytest(
            python,
            project,
            "-W",
            "error",
            f"--sla-endpoint={url}",
            "--html=report.html",
            "--self-contained-html",
            "--junitxml=junit.xml",
            *options,
        )
        assert f"{NUM_TESTS} passed" in out, out
        assert "= SLA =" in out, out
        sent = _num_requests(url) - before
        assert sent == NUM_REQUESTS, f"{sent} requests were sent instead of {NUM_REQUESTS}"
        assert "SLA report" in (project / "report.html").read_text()


def _environment(folder: Path) -> Path:
    python = folder / "bin" / "python"
    if not python.exists():
        _say(f"installing tokenpace[pytest] and {', '.join(PLUGINS)}")
        venv.create(folder, with_pip=True)
    packages = (f"{ROOT}[pytest]", *PLUGINS)
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages], check=True
    )
    return python


def _pytest(python: Path, project: Path, *arguments: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLA_", "PYTEST_"))}
    done = subprocess.run(
        [python, "-m", "pytest", *arguments],
        cwd=project,
        env=kept,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode != 0 or "= warnings summary =" in done.stdout:
        sys.exit(f"pytest {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def _num_requests(url: str) -> int:
    with urllib.request.urlopen(f"{url}/timetable/log", timeout=10) as answer:
        return len(answer.read().splitlines())


def _say(text: str) -> None:
    print(f"coexist: {text}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]).absolute())
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
