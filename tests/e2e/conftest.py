"""Real servers: ``python -m reference_server serve`` in processes of their own, on free ports."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import httpx
import psutil
import pytest

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator
    from pathlib import Path

START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 20.0
PROBE = """
schema: 1
name: probe
load: {arrivals: constant, rate: 100, requests: 200}
prompts: {source: text, text: [one two three, four five]}
sampling: {max_tokens: 4}
thresholds:
  ttft: ["p95 < 5s"]
"""
TINY = ("--model", "tiny-random", "--dtype", "float32", "--num-gpu-blocks-override", "256")


@dataclasses.dataclass
class ServerProcess:
    """A server that was started, and its log."""

    process: subprocess.Popen[bytes]
    log_path: Path

    @property
    def log(self) -> str:
        """Standard output and standard error so far."""
        return self.log_path.read_text(errors="replace")

    @property
    def base_url(self) -> str:
        """``http://host:port``, once it has been announced."""
        announced = re.search(r"address +(http://\S+)/v1", self.log)
        assert announced, self.log
        return announced[1]

    def wait_until(self, condition: Callable[[], bool], timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait while the process lives; show its log if it does not come to that."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert self.process.poll() is None, (
                f"the server ended with {self.process.returncode}:\n{self.log}"
            )
            assert time.monotonic() < deadline, f"the server is not ready in time:\n{self.log}"
            time.sleep(0.02)

    def wait_until_healthy(self) -> None:
        """Wait for the announcement and a good health."""
        self.wait_until(lambda: "/v1" in self.log)
        self.wait_until(lambda: httpx.get(f"{self.base_url}/health", timeout=10).status_code == 200)

    def children(self) -> list[psutil.Process]:
        """The processes that the server has started."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server alone."""
        self.process.send_signal(number)

    def wait(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Wait for the end; the exit code."""
        return self.process.wait(timeout_s)

    def stop(self) -> None:
        """End it, whatever state it is in."""
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_TIMEOUT_S)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def launched(
    folder: Path, args: tuple[str, ...], env: dict[str, str] | None = None
) -> Iterator[ServerProcess]:
    """A server that may still be loading."""
    log_path = folder / f"server-{time.monotonic_ns()}.log"
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "reference_server", "serve", *args, "--port", "0"],
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
        )
    server = ServerProcess(process, log_path)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def launch_server(tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
    """Start a server with these arguments and return at once."""
    with contextlib.ExitStack() as stack:

        def launch(*args: str, env: dict[str, str] | None = None) -> ServerProcess:
            return stack.enter_context(launched(tmp_path, args, env))

        yield launch


@pytest.fixture
def start_server(launch_server: Callable[..., ServerProcess]) -> Callable[..., ServerProcess]:
    """Start a server with these arguments and wait until it is healthy."""

    def start(*args: str, env: dict[str, str] | None = None) -> ServerProcess:
        server = launch_server(*args, env=env)
        server.wait_until_healthy()
        return server

    return start


@pytest.fixture
def server(start_server: Callable[..., ServerProcess]) -> Callable[..., str]:
    """``server(*args) -> base_url`` of a healthy server with these arguments."""
    return lambda *args: start_server(*args).base_url


@pytest.fixture(scope="session")
def tiny_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base URL of a server with random weights, one for the whole session: cheap, but not to be disturbed."""
    with launched(tmp_path_factory.mktemp("tiny-server"), TINY) as server:
        server.wait_until_healthy()
        yield server.base_url


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Of 200 requests in two seconds, whose objective any server meets."""
    path = tmp_path / "probe.yaml"
    path.write_text(PROBE)
    return path
