"""The command ``tokenpace`` in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT_S = 120.0
FULL_AT_30_000_BYTES = (
    "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000));"
    "from harness.cli import main; main()"
)
"""No file of the process can grow beyond that, as on a full disk."""


def tokenpace(
    *arguments: object, code: str | None = None, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run it to its end.

    Args:
        arguments: Of its command line.
        code: Python that is run in its place, and calls its ``main`` in the end.
        cwd: Where.
        environment: Added to the process's own.
    """
    return subprocess.run(
        _command(arguments, code),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        cwd=cwd,
        env={**os.environ, **environment},
        check=False,
    )


def start_tokenpace(
    *arguments: object, terminal: int = subprocess.PIPE, **environment: str
) -> subprocess.Popen[str]:
    """Start it; ``communicate`` gives what it says, unless it says it to a terminal."""
    return subprocess.Popen(
        _command(arguments),
        stdout=terminal,
        stderr=terminal,
        text=True,
        env={**os.environ, **environment},
    )


def _command(arguments: tuple[object, ...], code: str | None = None) -> list[str]:
    program = ["-m", "harness"] if code is None else ["-c", code]
    return [sys.executable, *program, *map(str, arguments)]
