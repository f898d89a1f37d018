"""Journals of several workers become one."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from harness.errors import JournalError
from harness.journal import Journal, read_journal
from harness.workers.journals import journal_of, put_together, read_records, workers_journals

if TYPE_CHECKING:
    from pathlib import Path

    from harness.record import Record
    from tests.conftest import MakeRecord


@pytest.fixture
def journal_path(tmp_path: Path, make_record: MakeRecord) -> Path:
    """Of eleven workers; the second of them was killed in the middle of a line."""
    path = tmp_path / "journal.jsonl"
    for worker in range(11):
        with Journal(journal_of(path, worker)) as journal:
            for index in range(worker, 33, 11):
                journal.append(make_record(index, due=10 * index))
    with journal_of(path, 1).open("ab") as file:
        file.write(b'{"index":99,"due_ns":1')
    return path


def indexes(records: list[Record]) -> list[int]:
    return [record.index for record in records]


def test_one_journal_in_the_order_of_the_ends(journal_path: Path) -> None:
    before = list(read_records(journal_path))
    put_together(journal_path)
    assert indexes(before) == list(range(33))
    assert list(read_journal(journal_path)) == before == list(read_records(journal_path))
    assert list(journal_path.parent.iterdir()) == [journal_path]


def test_workers_are_told_apart_by_number(journal_path: Path) -> None:
    (journal_path.parent / "journal-old.jsonl").write_text("not ours")
    names = [path.name for path in workers_journals(journal_path)]
    assert names == [f"journal-{number}.jsonl" for number in range(1, 12)]


def test_lines_are_as_the_workers_wrote_them(journal_path: Path) -> None:
    lines = {line for path in workers_journals(journal_path) for line in path.read_bytes().splitlines()}
    put_together(journal_path)
    merged = journal_path.read_bytes().splitlines()
    assert set(merged) == lines - {b'{"index":99,"due_ns":1'}
    assert len(merged) == 33


def test_a_full_disk_leaves_the_workers_journals(journal_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("harness.workers.journals.os.fsync", full)
    with pytest.raises(JournalError, match=r"No space left on device.*journals beside it are whole"):
        put_together(journal_path)
    assert not list(journal_path.parent.glob("*.tmp"))
    assert len(list(read_records(journal_path))) == 33


def test_a_finished_journal_comes_before_what_is_left_of_others(
    journal_path: Path, make_record: MakeRecord
) -> None:
    """Killed while the workers' journals were being removed."""
    with Journal(journal_path) as journal:
        journal.append(make_record(7))
    assert indexes(list(read_records(journal_path))) == [7]


def test_a_run_without_workers_journals_is_read_as_ever(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be read"):
        list(read_records(tmp_path / "journal.jsonl"))


def test_a_run_that_sent_nothing_has_an_empty_journal(tmp_path: Path) -> None:
    put_together(tmp_path / "journal.jsonl")
    assert list(read_records(tmp_path / "journal.jsonl")) == []
