"""Serve a real model on this machine, send it streaming load, judge its SLA, leave an HTML report."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

MODEL = "smollm2-135m"
READY_WITHIN_S = 120.0
VERDICTS = (0, 1, 3, 4)


def say(text: str) -> None:
    """Print one line of progress."""
    print(f"[demo] {text}", flush=True)


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(url: str) -> bool:
    """Whether ``url`` answers with 200."""
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@contextlib.contextmanager
def server(port: int) -> Iterator[str]:
    """The bundled server with the real model, until the block ends."""
    command = [sys.executable, "-m", "reference_server", "serve", MODEL, "--port", str(port)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + READY_WITHIN_S
        while not answers(f"{url}/health"):
            if process.poll() is not None:
                raise SystemExit(
                    f"[demo] the server ended with code {process.returncode}; see its message above"
                )
            if time.monotonic() > deadline:
                raise SystemExit(f"[demo] the server wasn't ready within {READY_WITHIN_S:.0f} s")
            time.sleep(0.2)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def main() -> int:
    """Run the demonstration; it succeeds when there is a verdict, whichever it is."""
    began = time.monotonic()
    folder = Path("results") / time.strftime("demo-%Y%m%d-%H%M%S")
    say(f"starting the bundled server with {MODEL}")
    with server(free_port()) as url:
        say(f"sending the scenario 'chat' to {url}")
        command = [sys.executable, "-m", "harness", "run", "chat", "--base-url", url, "--output", str(folder)]
        code = subprocess.run(command, check=False).returncode
    say(f"report: {folder / 'report.html'}")
    say(f"done after {time.monotonic() - began:.0f} s; the run's exit code was {code}")
    return 0 if code in VERDICTS else code


if __name__ == "__main__":
    sys.exit(main())
