"""``telemetry.jsonl``: whom the figures are from, then a line for each time they were asked for."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Self, TypeAlias

import msgspec

from harness.errors import HarnessError
from harness.telemetry.figures import Figures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType


class TelemetryError(HarnessError):
    """The file can't be read. The message names the remedy."""


class Source(msgspec.Struct, frozen=True, kw_only=True, tag="source", tag_field="kind"):
    """Whom the figures are from.

    Attributes:
        url: Of the page, secrets masked.
        dialect: Whose names it uses.
    """

    url: str
    dialect: str


class Absent(msgspec.Struct, frozen=True, kw_only=True, tag="absent", tag_field="kind"):
    """There are no figures.

    Attributes:
        message: Why, secrets masked.
    """

    message: str


class Reading(msgspec.Struct, frozen=True, kw_only=True, tag="reading", tag_field="kind"):
    """The figures at one instant.

    Attributes:
        at_ns: After the start of the run; negative for the look before it.
        figures: What the server said.
    """

    at_ns: int
    figures: Figures


class Fault(msgspec.Struct, frozen=True, kw_only=True, tag="fault", tag_field="kind"):
    """They could not be had.

    Attributes:
        at_ns: As in ``Reading``.
        message: Why, secrets masked.
    """

    at_ns: int
    message: str


class Unreadable(msgspec.Struct, frozen=True, kw_only=True, tag="unreadable", tag_field="kind"):
    """A line of the file is none of these.

    Attributes:
        message: Which, and why.
    """

    message: str


Line: TypeAlias = Source | Absent | Reading | Fault | Unreadable


class TelemetryLog:
    """Writes lines to a new file, each whole.

    Args:
        path: The file.
        started_ns: Monotonic time of the start of the run, 0 as long as it hasn't begun. What is read before
            is kept until then.

    Raises:
        OSError: The file exists or can't be made.
    """

    def __init__(self, path: Path, started_ns: Callable[[], int]) -> None:
        self._started_ns = started_ns
        self._early: list[Reading | Fault] = []
        self._encoder = msgspec.json.Encoder()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)

    def write(self, line: Line) -> None:
        """Put a line on disk.

        Raises:
            OSError: It can't be written.
        """
        data = self._encoder.encode(line) + b"\n"
        if os.write(self._file, data) < len(data):  # nothing may follow the beginning of a line
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def add(self, line: Reading | Fault) -> None:
        """Put a line on disk whose ``at_ns`` is monotonic time.

        Raises:
            OSError: It can't be written.
        """
        self._early.append(line)
        if start_ns := self._started_ns():
            for each in self._early:
                self.write(msgspec.structs.replace(each, at_ns=each.at_ns - start_ns))
            self._early.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._file)


def read_telemetry(path: Path) -> tuple[Line, ...]:
    """The lines of a file; none if there is no such file. An unfinished last line is passed over.

    Raises:
        TelemetryError: It can't be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise TelemetryError(f"{path}: cannot be read ({error.strerror}); give a run's folder") from error
    decoder = msgspec.json.Decoder(Line)
    lines = data.split(b"\n")[:-1]
    return tuple(_decoded(decoder, line, f"{path.name}: line {n}") for n, line in enumerate(lines, start=1))


def _decoded(decoder: msgspec.json.Decoder[Line], line: bytes, place: str) -> Line:
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Unreadable(message=f"{place} is none of telemetry ({error})")
