"""The bundled timetable server, as a program: the harness never imports it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final, Self

import httpx
import msgspec

from harness.calibration.comparison import LogLine
from harness.errors import HarnessError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

_STOP_TIMEOUT_S: Final = 10.0
_ANSWER_TIMEOUT_S: Final = 60.0
_REMEDY: Final = "install the bundled server with: pip install 'tokenpace[server]'"


class TimetableError(HarnessError):
    """The timetable server doesn't start or doesn't answer. The message gives its own last words."""


class Timetable:
    """``python -m reference_server.timetable`` on a free port while it is entered.

    Args:
        options: Of its command line.
        cores: The CPUs it may use; None for all.

    Attributes:
        url: Its address.
    """

    def __init__(self, *options: str, cores: Iterable[int] | None = None) -> None:
        self.url = ""
        self._command = [sys.executable, "-P", "-m", "reference_server.timetable", "--port", "0", *options]
        self._cores = cores
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._process = process = subprocess.Popen(  # noqa: S603 (our own program)
            self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        if self._cores is not None and hasattr(os, "sched_setaffinity"):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(process.pid, self._cores)
        announced = process.stdout.readline().split()
        if not announced or not announced[-1].startswith("http://"):
            _, words = process.communicate()
            last = words.strip().splitlines()[-1] if words.strip() else "it said nothing"
            raise TimetableError(f"the timetable server doesn't start ({last}); {_REMEDY}")
        self.url = announced[-1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.communicate(timeout=_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def take_log(self) -> list[LogLine]:
        """The finished requests since the last call.

        Raises:
            TimetableError: It doesn't answer.
        """
        try:
            reply = httpx.get(f"{self.url}/timetable/log?after=0", timeout=_ANSWER_TIMEOUT_S)
            httpx.delete(f"{self.url}/timetable/log", timeout=_ANSWER_TIMEOUT_S)
        except httpx.HTTPError as error:
            raise TimetableError(
                f"the timetable server is gone ({error}); run the calibration again"
            ) from error
        return [msgspec.json.decode(line, type=LogLine) for line in reply.content.splitlines()]
