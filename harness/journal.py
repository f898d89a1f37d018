"""The journal: one JSON line per request, written while the run goes on.

A line is encoded when its record is handed over and written by a thread of its own, every half second, so
that neither the disk nor the encoding of many lines at once delays a stamp. A process that is killed loses
what it was handed in the last second at most. The disk is told to keep what it has got (fsync) every five
seconds and at the end. A line is on disk whole or not at all, apart from the last one of a killed process.
"""

from __future__ import annotations

import os
import time
from collections import deque
from typing import TYPE_CHECKING, Final, Self

import msgspec

from harness.errors import JournalError
from harness.native import new_event, new_thread
from harness.nonsense import nonsense
from harness.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

WRITE_INTERVAL_S: Final = 0.5
SYNC_INTERVAL_S: Final = 5.0
_DECODER: Final = msgspec.json.Decoder(Record)


class Journal:
    """Writes records to a new file.

    Raises:
        JournalError: The file exists or can't be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._encoder = msgspec.json.Encoder()
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._failure: JournalError | None = None
        self._closing = new_event()
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise JournalError(f"{path}: cannot be made ({error.strerror}); give a new folder") from error
        self._thread = new_thread(self._work, "journal")
        self._thread.start()

    def append(self, record: Record) -> None:
        """Take a record; it is written within a second.

        Raises:
            JournalError: An earlier record could not be written. All lines before it are whole.
        """
        if self._failure is not None:
            raise self._failure
        self._lines.append(self._encoder.encode(record))

    def close(self) -> None:
        """Write all that is left and make sure that the disk has it.

        Raises:
            JournalError: Some of it could not be written. All lines before it are whole.
        """
        if self._closing.is_set():
            return
        self._closing.set()
        self._thread.join()
        os.close(self._file)
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _work(self) -> None:
        synced_s = time.monotonic()
        closing = False
        while not closing and self._failure is None:
            closing = self._closing.wait(WRITE_INTERVAL_S)
            is_due = time.monotonic() - synced_s >= SYNC_INTERVAL_S
            try:
                self._write_lines()
                if closing or is_due:
                    os.fsync(self._file)
                    synced_s = time.monotonic()
            except OSError as error:
                remedy = "make room on the disk; all earlier lines are whole"
                self._failure = JournalError(f"{self.path}: cannot be written ({error.strerror}); {remedy}")

    def _write_lines(self) -> None:
        lines = []
        while self._lines:
            lines.append(self._lines.popleft())
        if lines:
            self._write(b"\n".join(lines) + b"\n")

    def _write(self, data: bytes) -> None:
        num_written = 0
        try:
            while num_written < len(data):
                num_written += os.write(self._file, memoryview(data)[num_written:])
        except OSError:  # no room for the rest of a line: take back its beginning
            os.ftruncate(self._file, self._size + data.rfind(b"\n", 0, num_written) + 1)
            raise
        self._size += num_written


def read_journal(path: Path) -> Iterator[Record]:
    """The records of a journal, in order. A last line that a killed process left unfinished is passed over.

    Raises:
        JournalError: The file can't be read, or holds a line that is no record. Names the line.
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n"):
                    return
                yield _decoded(line, path, number)
    except OSError as error:
        raise JournalError(f"{path}: cannot be read ({error.strerror}); give a run's folder") from error


def is_torn(path: Path) -> bool:
    """Whether a journal's last line is unfinished; False where there is no journal.

    Raises:
        JournalError: The file can't be read.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            return file.read() not in (b"", b"\n")
    except FileNotFoundError:
        return False
    except OSError as error:
        raise JournalError(f"{path}: cannot be read ({error.strerror}); give a run's folder") from error


def record_of(line: bytes) -> Record:
    """The record that a line holds.

    Raises:
        msgspec.DecodeError: It holds none, or one of a request that can't have been.
    """
    record = _DECODER.decode(line)
    if (fault := nonsense(record)) is not None:
        raise msgspec.DecodeError(fault)
    return record


def _decoded(line: bytes, path: Path, number: int) -> Record:
    try:
        return record_of(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise JournalError(
            f"{path}: line {number} is no record ({error}); remove that line to read the rest"
        ) from error
