"""The journal keeps what it was given, whatever happens."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING

import pytest

from harness import journal as journal_module
from harness.errors import JournalError
from harness.journal import Journal, read_journal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MakeRecord


def test_what_goes_in_comes_out(tmp_path: Path, make_record: MakeRecord) -> None:
    records = [make_record(i, message="a\nb\u2028ü") for i in range(100)]
    with Journal(tmp_path / "j.jsonl") as journal:
        for record in records:
            journal.append(record)
    assert list(read_journal(tmp_path / "j.jsonl")) == records


def test_records_are_on_disk_within_a_second(tmp_path: Path, make_record: MakeRecord) -> None:
    with Journal(tmp_path / "j.jsonl") as journal:
        journal.append(make_record())
        deadline_s = time.monotonic() + 10
        while not list(read_journal(tmp_path / "j.jsonl")):
            assert time.monotonic() < deadline_s
            time.sleep(0.05)


def test_an_existing_journal_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "j.jsonl").write_text("precious\n")
    with pytest.raises(JournalError, match="cannot be made"):
        Journal(tmp_path / "j.jsonl")
    assert (tmp_path / "j.jsonl").read_text() == "precious\n"


def test_a_torn_last_line_is_passed_over(tmp_path: Path, make_record: MakeRecord) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        for i in range(3):
            journal.append(make_record(i))
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for size in range(last, len(whole)):
        path.write_bytes(whole[:size])
        assert [record.index for record in read_journal(path)] == [0, 1]


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path, make_record: MakeRecord) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        journal.append(make_record())
    path.write_bytes(path.read_bytes() + b'{"index": \n' + path.read_bytes())
    with pytest.raises(JournalError, match="line 2 is no record"):
        list(read_journal(path))


def test_a_missing_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be read"):
        list(read_journal(tmp_path / "absent.jsonl"))


def test_a_full_disk_loses_nothing_earlier(
    tmp_path: Path, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk takes 3.5 lines."""
    path = tmp_path / "j.jsonl"
    journal = Journal(path)
    size = len(journal_module.msgspec.json.encode(make_record())) + 1
    room = [3 * size + size // 2]
    write = os.write

    def scarce_write(file: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        num_written = write(file, bytes(data)[: room[0]])
        room[0] -= num_written
        return num_written

    monkeypatch.setattr(journal_module.os, "write", scarce_write)
    for _ in range(10):
        journal.append(make_record())
    with pytest.raises(JournalError, match="No space left"):
        journal.close()
    assert path.read_bytes().endswith(b"\n")
    assert len(list(read_journal(path))) == 3


def test_after_a_failure_nothing_more_is_taken(
    tmp_path: Path, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "WRITE_INTERVAL_S", 0.01)
    journal = Journal(tmp_path / "j.jsonl")

    def no_write(_file: int, _data: bytes) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(journal_module.os, "write", no_write)
    journal.append(make_record())
    time.sleep(1)
    with pytest.raises(JournalError, match="make room"):
        journal.append(make_record())
    with pytest.raises(JournalError):
        journal.close()


_WRITER = """
    import pathlib, resource, sys, time
    from harness.errors import JournalError
    from harness.journal import Journal
    from harness.record import Outcome, Record

    if limit := int(sys.argv[2]):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    journal = Journal(pathlib.Path(sys.argv[1]))
    try:
        for index in range(100_000):
            journal.append(Record(index=index, due_ns=0, done_ns=1, outcome=Outcome.OK))
            print(index, flush=True)
            time.sleep(0.001)
    except JournalError as error:
        sys.exit(str(error))
"""


def _writer(path: Path, limit: int) -> subprocess.Popen[str]:
    code = textwrap.dedent(_WRITER)
    command = [sys.executable, "-c", code, str(path), str(limit)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_killed_process_loses_a_second_at_most(tmp_path: Path) -> None:
    with _writer(tmp_path / "j.jsonl", 0) as process:
        assert process.stdout is not None
        appended = [(time.monotonic(), int(process.stdout.readline())) for _ in range(1_200)]
        process.send_signal(signal.SIGKILL)
        killed_s = time.monotonic()
    must_be_there = max(index for at_s, index in appended if at_s < killed_s - 1)
    assert len(list(read_journal(tmp_path / "j.jsonl"))) > must_be_there


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no file size limits here")
def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """R2: one clear message, earlier records readable."""
    with _writer(tmp_path / "j.jsonl", 20_000) as process:
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "cannot be written" in errors
    found = [record.index for record in read_journal(tmp_path / "j.jsonl")]
    assert found == list(range(len(found)))
    assert 0 < len(found) < len(output.splitlines())
