"""The journals of several workers, which become the journal of the run."""

from __future__ import annotations

import heapq
import os
from typing import TYPE_CHECKING, Final

import msgspec

from harness.census import Census
from harness.errors import JournalError
from harness.journal import read_journal
from reports.whole_file import whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.record import Record

_BATCH_BYTES: Final = 1 << 20


def journal_of(journal_path: Path, worker: int) -> Path:
    """Where a worker, counted from 0, writes: ``journal-1.jsonl`` beside ``journal.jsonl``."""
    return journal_path.with_name(f"{journal_path.stem}-{worker + 1}{journal_path.suffix}")


def workers_journals(journal_path: Path) -> list[Path]:
    """Those that there are, in order."""
    pattern = f"{journal_path.stem}-*{journal_path.suffix}"
    found = {path: path.stem.rpartition("-")[2] for path in journal_path.parent.glob(pattern)}
    return sorted((path for path, number in found.items() if number.isdigit()), key=lambda p: int(found[p]))


def read_records(journal_path: Path, census: Census | None = None) -> Iterator[Record]:
    """All requests of a run in the order of their ends, from its journal or from those of its workers.

    A request is there once, however often its line is.

    Args:
        journal_path: The journal of the run, even where there are only those of its workers.
        census: Counts the lines; a new one by default.

    Raises:
        JournalError: They can't be read.
    """
    parts = [] if journal_path.exists() else workers_journals(journal_path)
    merged = heapq.merge(*map(read_journal, parts), key=lambda record: (record.done_ns, record.index))
    return (census or Census()).each_once(merged if parts else read_journal(journal_path))


def put_together(journal_path: Path) -> None:
    """Make one journal of the workers', in the order of the requests' ends, and remove theirs.

    Raises:
        JournalError: It can't be written. The workers' journals are as they were.
    """
    parts = workers_journals(journal_path)
    try:
        with whole(journal_path) as temporary:
            _write(temporary, heapq.merge(*map(_lines, parts), key=lambda line: line[0]))
        for part in parts:
            part.unlink()
    except OSError as error:
        raise JournalError(
            f"{journal_path}: cannot be written ({error.strerror}); make room on the disk: the workers' "
            "journals beside it are whole"
        ) from error


class _End(msgspec.Struct):
    done_ns: int
    index: int


def _lines(path: Path) -> Iterator[tuple[tuple[int, int], bytes]]:
    decoder = msgspec.json.Decoder(_End)
    with path.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                end = decoder.decode(line)
                yield (end.done_ns, end.index), line


def _write(path: Path, lines: Iterator[tuple[tuple[int, int], bytes]]) -> None:
    with path.open("wb", buffering=_BATCH_BYTES) as file:
        for _, line in lines:
            file.write(line)
        file.flush()
        os.fsync(file.fileno())
