"""Locust in processes of its own: importing it would patch this one."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
OWN_FLOW = ROOT / "tests" / "data" / "locust" / "own_flow.py"
SCENARIO = """
schema: 1
name: within-locust
seed: 7
load: {arrivals: poisson, rate: 60, requests: 120}
prompts: {source: synthetic, length: {min: 5, max: 40}}
sampling: {max_tokens: {min: 4, max: 12}}
thresholds:
  ttft: ["p50 < 5s"]
"""


def locust(url: str, locustfile: Path, *arguments: object) -> subprocess.Popen[str]:
    """Start a headless Locust with a locustfile."""
    options = ("-f", locustfile, "--headless", "--only-summary", "--host", url, *arguments)
    return subprocess.Popen(
        [sys.executable, "-m", "locust", *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str], timeout_s: float = 150) -> tuple[str, str]:
    """Wait for its end; what it has written. One that doesn't end is killed."""
    try:
        return process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise


def await_a_record(process: subprocess.Popen[str], folder: Path) -> None:
    """Wait until the run has written its first line, or show why there is none."""
    journal, deadline = folder / "journal.jsonl", time.monotonic() + 120
    while not (journal.exists() and journal.stat().st_size):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise AssertionError(process.communicate())
        time.sleep(0.01)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Of 120 requests in two seconds."""
    path = tmp_path / "within-locust.yaml"
    path.write_text(SCENARIO)
    return path
