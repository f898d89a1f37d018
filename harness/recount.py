"""A run counted anew from its journal; a long one by several processes of ``python -m harness.recount``.

Parts put together give the same numbers as one process, to the last bit, so how many there were is nobody's
business.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from harness.census import Census
from harness.environment import num_cpus
from harness.journal import record_of
from harness.result_folder import ResultFolder
from harness.tally import Part, Tally
from harness.workers.journals import read_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.record import Record
    from harness.result_folder import Manifest

MIN_BYTES_EACH: Final = 16 * 1024 * 1024
"""A process takes a second to start: it must have more to do than that."""


class _Share(msgspec.Struct, frozen=True):
    """What a process found in its share of a journal, each part encoded."""

    part: bytes
    census: bytes


def recounted(
    folder: ResultFolder, manifest: Manifest, *, min_bytes_each: int = MIN_BYTES_EACH
) -> tuple[Tally, Census]:
    """What the requests in the journal of a run add up to, and which they are.

    Args:
        folder: The run's.
        manifest: What it was asked to do.
        min_bytes_each: No process gets less of the journal than that.

    Raises:
        JournalError: It can't be read, or holds a line that is no record.
    """
    tally, census = Tally(manifest), Census()
    for share in _shares(folder, min_bytes_each):
        if share is None or not census.joins(share[1]):  # let the one process say what is wrong, and where
            return _counted_here(folder, manifest)
        tally.merge(share[0])
    return (tally, census) if census.num_records else _counted_here(folder, manifest)


def _counted_here(folder: ResultFolder, manifest: Manifest) -> tuple[Tally, Census]:
    tally, census = Tally(manifest), Census()
    for record in read_records(folder.journal_path, census):
        tally.add(record)
    return tally, census


def _shares(folder: ResultFolder, min_bytes_each: int) -> Iterator[tuple[Part, Census] | None]:
    """What each process counted, None for one that failed; nothing where one process is enough."""
    path = folder.journal_path
    size = path.stat().st_size if path.exists() else 0
    num = min(num_cpus(), size // min_bytes_each)
    if num < 2:
        return
    edges = [size * at // num for at in range(num + 1)]
    with ThreadPoolExecutor(num) as threads:
        yield from threads.map(lambda begin, end: _count(folder.path, begin, end), edges, edges[1:])


def _count(folder: Path, begin: int, end: int) -> tuple[Part, Census] | None:
    command = [sys.executable, "-P", "-m", "harness.recount", str(folder), str(begin), str(end)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)  # noqa: S603 (our own program)
    if done.returncode != 0:
        return None
    share = msgspec.msgpack.decode(done.stdout, type=_Share)
    return Part.decode(share.part), Census.decode(share.census)


def records_between(path: Path, begin: int, end: int) -> Iterator[Record]:
    """The records of the lines that begin in ``begin <= offset < end``; a last line without an end is none.

    Raises:
        OSError: The file can't be read.
        msgspec.DecodeError: A line is no record.
    """
    with path.open("rb") as lines:
        at = 0
        if begin:
            lines.seek(begin - 1)
            at = begin - 1 + len(lines.readline())
        for line in lines:
            if at >= end or not line.endswith(b"\n"):
                return
            yield record_of(line)
            at += len(line)


def main(folder: str, begin: str, end: str) -> None:
    """Count a part of a journal; what it comes to goes to standard output."""
    found, census = ResultFolder.open(Path(folder)), Census()
    tally = Tally(found.manifest())
    for record in census.each_once(records_between(found.journal_path, int(begin), int(end))):
        tally.add(record)
    if census.num_repeated:
        sys.exit("a request is there twice")
    share = _Share(tally.part().encode(), census.encode())
    sys.stdout.buffer.write(msgspec.msgpack.encode(share))


if __name__ == "__main__":
    main(*sys.argv[1:])
