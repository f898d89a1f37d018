"""A journal counted by several processes gives what one gives."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import msgspec
import pytest
from support.result_folders import result_folder, ten_a_second

from harness import recount
from harness.errors import JournalError
from harness.recount import records_between, recounted

if TYPE_CHECKING:
    from pathlib import Path

    from harness.record import Record
    from harness.result_folder import ResultFolder
    from harness.tally import Tally
    from tests.conftest import MakeRecord


@pytest.fixture
def folder(tmp_path: Path, make_record: MakeRecord) -> ResultFolder:
    """400 requests, some failed."""
    chance = random.Random(5)

    def record(i: int) -> Record:
        outcome = "ok" if chance.random() < 0.9 else "http_error"
        chunks = tuple(sorted(chance.uniform(50, 900) for _ in range(chance.randrange(1, 9))))
        return make_record(i, due=100 * i, chunks=chunks, outcome=outcome, message="x" * chance.randrange(9))

    scenario = ten_a_second(400, thresholds={"ttft": ["p95 < 1s"]})
    return result_folder(tmp_path / "run", map(record, range(400)), scenario=scenario)


@pytest.fixture(autouse=True)
def _four_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recount, "num_cpus", lambda: 4)


def drawn(tally: Tally) -> bytes:
    return msgspec.msgpack.encode(tally.summarizer.summary(tally.summarizer.snapshot()))


def test_four_processes_give_what_one_gives_to_the_last_bit(folder: ResultFolder) -> None:
    manifest = folder.manifest()
    alone, _ = recounted(folder, manifest)
    together, _ = recounted(folder, manifest, min_bytes_each=1_000)
    assert alone.summarizer.num_requests == together.summarizer.num_requests == 400
    assert drawn(alone) == drawn(together)


def test_every_line_falls_to_one_part_wherever_the_cuts_are(folder: ResultFolder) -> None:
    path = folder.journal_path
    size = path.stat().st_size
    chance = random.Random(1)
    first_line = len(path.read_bytes().partition(b"\n")[0]) + 1
    for cuts in ([first_line], [first_line - 1], [first_line + 1], [], [1, 2, 3], [size - 1]):
        edges = [0, *cuts, *sorted(chance.randrange(first_line + 2, size - 2) for _ in range(5)), size]
        edges = sorted(set(edges))
        found = [
            record.index
            for begin, end in itertools.pairwise(edges)
            for record in records_between(path, begin, end)
        ]
        assert found == list(range(400))


def test_an_unfinished_last_line_is_passed_over(folder: ResultFolder) -> None:
    with folder.journal_path.open("ab") as journal:
        journal.write(b'{"index":400,"du')
    assert recounted(folder, folder.manifest(), min_bytes_each=1_000)[0].summarizer.num_requests == 400


def test_a_line_that_is_no_record_is_named(folder: ResultFolder) -> None:
    lines = folder.journal_path.read_bytes().splitlines(keepends=True)
    lines[250] = b"{}\n"
    folder.journal_path.write_bytes(b"".join(lines))
    with pytest.raises(JournalError, match="line 251 is no record"):
        recounted(folder, folder.manifest(), min_bytes_each=1_000)


def test_an_empty_journal_is_no_fault(folder: ResultFolder) -> None:
    folder.journal_path.write_bytes(b"")
    assert recounted(folder, folder.manifest(), min_bytes_each=1)[0].summarizer.num_requests == 0


@pytest.mark.parametrize("min_bytes_each", [1_000, recount.MIN_BYTES_EACH])
@pytest.mark.parametrize("again", [(399,), (0, 1, 2), tuple(range(400))])
def test_a_request_is_counted_once_however_often_its_line_is_there(
    folder: ResultFolder, again: tuple[int, ...], min_bytes_each: int
) -> None:
    whole, _ = recounted(folder, folder.manifest())
    lines = folder.journal_path.read_bytes().splitlines(keepends=True)
    folder.journal_path.write_bytes(b"".join(lines + [lines[i] for i in again]))
    tally, census = recounted(folder, folder.manifest(), min_bytes_each=min_bytes_each)
    assert drawn(tally) == drawn(whole)
    assert (census.num_records, census.num_repeated) == (400, len(again))


def test_one_line_twice_within_a_process_s_share(folder: ResultFolder) -> None:
    lines = folder.journal_path.read_bytes().splitlines(keepends=True)
    folder.journal_path.write_bytes(b"".join(lines[:10] + lines[9:]))
    _, census = recounted(folder, folder.manifest(), min_bytes_each=1_000)
    assert (census.num_records, census.num_repeated) == (400, 1)
