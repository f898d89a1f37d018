"""The bundled server, in a process of its own, for tests and experiments."""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

from harness.errors import HarnessError

if TYPE_CHECKING:
    from collections.abc import Iterator

_TIMETABLE: Final = "timetable"
_READY_WITHIN_S: Final = 300
_ENDS_WITHIN_S: Final = 30
_ADDRESS: Final = re.compile(r"http://[\w.:\[\]]+")


class OwnServerError(HarnessError):
    """The server did not start. The message holds what it said."""


@contextlib.contextmanager
def serving(what: str) -> Iterator[str]:
    """Serve a model while entered; the address.

    Args:
        what: A model as ``tokenpace serve`` takes it, with its options, or ``timetable`` with options of
            ``python -m reference_server.timetable``.

    Raises:
        OwnServerError: It does not start.
    """
    with subprocess.Popen(  # noqa: S603 (our own program)
        _command(what), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    ) as server:
        try:
            yield _address(server, what)
        finally:
            _end(server)


def _command(what: str) -> list[str]:
    model, *options = shlex.split(what)
    program = ("reference_server.timetable",) if model == _TIMETABLE else ("reference_server", "serve", model)
    return [sys.executable, "-P", "-m", *program, "--port", "0", *options]


def _address(server: subprocess.Popen[str], what: str) -> str:
    """Where it listens, as it says when it is ready; from then on its output is read and dropped."""
    assert server.stdout is not None
    said = []
    too_late = threading.Timer(_READY_WITHIN_S, server.kill)
    too_late.start()
    try:
        for line in server.stdout:
            said.append(line)
            if match := _ADDRESS.search(line):
                threading.Thread(target=server.stdout.read, daemon=True).start()
                return match[0]
    finally:
        too_late.cancel()
    raise OwnServerError(f"the server of '{what}' did not start:\n{''.join(said)}")


def _end(server: subprocess.Popen[str]) -> None:
    server.terminate()
    try:
        server.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
