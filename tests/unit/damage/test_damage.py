"""A result made again from damaged files says what is wrong with them."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

import msgspec
import pytest
from click.testing import CliRunner
from support.result_folders import result_folder, ten_a_second

from harness import result_folder as result_folder_module
from harness.census import Census
from harness.cli import cli
from harness.client_health import HealthProbe
from harness.drivers import LoadFacts
from harness.nonsense import nonsense
from harness.recount import records_between
from harness.result_folder import Checkpoint, ResultFolder
from harness.run import report
from reports.result import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import MakeRecord

NUM = 60


@pytest.fixture
def folder(tmp_path: Path, make_record: MakeRecord) -> ResultFolder:
    """Of a run that came to its end."""
    records = [make_record(i, due=100 * i) for i in range(NUM)]
    made = result_folder(tmp_path / "run", records, scenario=ten_a_second(NUM))
    health = HealthProbe().report(LoadFacts(), is_open=True)
    made.save(
        Checkpoint(elapsed_ns=6_100_000_000, finished=True, interrupted=None, health=health, num_records=NUM)
    )
    return made


def without_count(folder: ResultFolder) -> None:
    """As an older tokenpace left it."""
    folder.save(msgspec.structs.replace(folder.checkpoint(), num_records=None))


def cut_last_line(journal: bytes) -> bytes:
    return journal[:-20]


def without_a_line(journal: bytes) -> bytes:
    lines = journal.splitlines(keepends=True)
    return b"".join(lines[:30] + lines[31:])


def with_five_again(journal: bytes) -> bytes:
    return journal + b"".join(journal.splitlines(keepends=True)[:5])


@pytest.mark.parametrize("counted", [True, False])
def test_a_whole_folder_has_no_cause(folder: ResultFolder, counted: bool) -> None:
    if not counted:
        without_count(folder)
    result = report(folder, ()).result
    assert (result.verdict, result.causes, result.num_requests) == (None, (), NUM)


@pytest.mark.parametrize(
    ("change", "left", "cause"),
    [
        (cut_last_line, NUM - 1, f"the journal holds {NUM - 1} requests where the run wrote {NUM}"),
        (without_a_line, NUM - 1, f"the journal holds {NUM - 1} requests where the run wrote {NUM}"),
        (lambda _: b"", 0, f"the journal holds 0 requests where the run wrote {NUM}"),
        (with_five_again, NUM, "the journal holds 5 more lines of requests that it has already"),
    ],
)
def test_a_journal_that_was_changed_makes_a_run_invalid(
    folder: ResultFolder, change: Callable[[bytes], bytes], left: int, cause: str
) -> None:
    folder.journal_path.write_bytes(change(folder.journal_path.read_bytes()))
    result = report(folder, ()).result
    assert result.verdict is Verdict.INVALID
    assert result.num_requests == left
    assert cause in "; ".join(result.causes)


@pytest.mark.parametrize(
    ("change", "cause"), [(cut_last_line, "is cut off"), (with_five_again, "5 more lines")]
)
def test_an_old_folder_shows_what_can_be_seen_without_a_count(
    folder: ResultFolder, change: Callable[[bytes], bytes], cause: str
) -> None:
    without_count(folder)
    folder.journal_path.write_bytes(change(folder.journal_path.read_bytes()))
    result = report(folder, ()).result
    assert result.verdict is Verdict.INVALID
    assert cause in result.causes[0]


@pytest.mark.parametrize("text", [None, b"", b"{", b"\xff", b"[1]"])
def test_without_a_checkpoint_a_run_is_one_that_was_broken_off(
    folder: ResultFolder, text: bytes | None
) -> None:
    if text is None:
        folder.checkpoint_path.unlink()
    else:
        folder.checkpoint_path.write_bytes(text)
    done = report(folder, ())
    result = done.result
    assert (result.verdict, result.num_requests) == (Verdict.INVALID, NUM)
    assert "checkpoint.json" in result.causes[0]
    assert "broken off" in result.causes[1]
    assert result.duration_s == pytest.approx(6.03)
    assert all(metric.client_error_p99 is None for metric in result.metrics)
    assert done.fault is None
    assert (folder.checkpoint_path.read_bytes() if folder.checkpoint_path.exists() else None) == text


def test_a_bad_line_of_telemetry_is_a_note(folder: ResultFolder) -> None:
    folder.telemetry_path.write_bytes(b"nonsense\n")
    result = report(folder, ()).result
    assert result.causes == ()
    assert any("telemetry.jsonl: line 1" in note for note in result.notes)


@pytest.mark.parametrize(("change", "num_rows"), [(cut_last_line, NUM - 1), (with_five_again, NUM)])
def test_an_export_says_what_is_wrong_with_its_journal(
    folder: ResultFolder, change: Callable[[bytes], bytes], num_rows: int
) -> None:
    whole = CliRunner().invoke(cli, ["export", str(folder.path)])
    assert (whole.exit_code, whole.stderr) == (0, "")
    folder.journal_path.write_bytes(change(folder.journal_path.read_bytes()))
    done = CliRunner().invoke(cli, ["export", str(folder.path)])
    assert f"{num_rows} rows" in done.stdout
    assert "tokenpace: warning: the " in done.stderr


NONSENSE = [
    ({"chunk_tokens": [1]}, "4 chunk_ns and 1 chunk_tokens"),
    ({"chunk_ns": [], "chunk_tokens": []}, "answer_index 0 of 0 chunks"),
    ({"coalesced_chunks": 5}, "coalesced_chunks 5 of 4"),
    ({"chunk_ns": [430_000_000, 420_000_000, 410_000_000, 400_000_000]}, "chunk_ns don't rise"),
    ({"chunk_ns": [400_000_000, 410_000_000, 420_000_000, 10**30]}, f"chunk_ns up to {10**30}"),
    ({"chunk_ns": [0, 410_000_000, 420_000_000, 430_000_000]}, "chunk_ns before sent_ns"),
    ({"chunk_tokens": [1, 1, 1, 1 << 25]}, "chunk_tokens are more than any context holds"),
    ({"chunk_tokens": [1, 1, 1, -1]}, "Expected `int` >= 0 - at `$.chunk_tokens[3]`"),
    ({"done_ns": 10**30}, "Expected `int` <= 9007199254740992 - at `$.done_ns`"),
    ({"done_ns": 1}, "done_ns before sent_ns"),
    ({"due_ns": -5}, "Expected `int` >= 0 - at `$.due_ns`"),
    ({"output_tokens": -3}, "Expected `int` >= 0 - at `$.output_tokens`"),
    ({"sent_ns": 0}, "sent_ns before due_ns"),
    ({"headers_ns": 0}, "headers_ns before sent_ns"),
    ({"sent_ns": None}, "an answer to what was never sent"),
]


@pytest.mark.parametrize(("fields", "said"), NONSENSE)
def test_a_record_of_what_can_not_have_been_is_none(
    folder: ResultFolder, fields: dict[str, object], said: str
) -> None:
    """Line 4 is named, its fault too; by ``report`` as by whoever reads a part of the journal."""
    lines = folder.journal_path.read_bytes().splitlines()
    lines[3] = json.dumps({**json.loads(lines[3]), **fields}).encode()
    folder.journal_path.write_bytes(b"\n".join(lines) + b"\n")
    done = CliRunner().invoke(cli, ["report", str(folder.path)])
    assert done.exit_code == 2
    assert f"journal.jsonl: line 4 is no record ({said}); remove that line" in done.stderr
    size = folder.journal_path.stat().st_size
    with pytest.raises(msgspec.DecodeError):
        list(records_between(folder.journal_path, 0, size))


def test_what_happens_to_real_requests_is_no_nonsense(make_record: MakeRecord) -> None:
    """A timer that is a hair early, a request that was never sent, an answer of which only usage tells."""
    hair = make_record(due=100, sent=99.5)
    unsent = make_record(sent_ns=None, headers_ns=None, chunks=(), outcome="connect_error")
    silent = make_record(chunks=(), output_tokens=5)
    cut = make_record(outcome="cut", done_ns=129_900_000)
    assert [nonsense(each) for each in (hair, unsent, silent, cut)] == [None] * 4


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "(No space left on device); make room, then make the rest with 'tokenpace report'"),
        (errno.ENOENT, "(No such file or directory); was the folder removed while the run went on?"),
    ],
)
def test_a_folder_that_can_not_be_finished_says_why(
    folder: ResultFolder, monkeypatch: pytest.MonkeyPatch, number: int, said: str
) -> None:
    def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(result_folder_module, "write_json", fails)
    assert f"{folder.path}: not all of it could be written {said}" in str(report(folder).fault)


def test_a_census_is_bounded_whatever_the_indexes_are() -> None:
    census = Census()
    odd = [0, 1, 4095, 4096, 10**17, -1, -5000]
    assert [census.is_new(index) for index in odd * 2] == [True] * 7 + [False] * 7
    other = Census.decode(census.encode())
    assert not other.joins(census)
    assert other.is_new(7)
    fresh = Census()
    assert fresh.joins(other)
    assert (fresh.num_records, fresh.num_repeated, fresh.is_new(10**17)) == (8, 7, False)


def test_a_killed_run_came_as_far_as_its_journal(folder: ResultFolder) -> None:
    """Its last checkpoint is older: rates over that time alone would be too high."""
    checkpoint = folder.checkpoint()
    whole = report(folder, ()).result
    folder.save(msgspec.structs.replace(checkpoint, elapsed_ns=243_000, finished=False, num_records=None))
    result = report(folder, ()).result
    assert result.duration_s > 5.9
    (rate,) = (rate.value for rate in result.rates if rate.name == "request_rate")
    (right,) = (rate.value for rate in whole.rates if rate.name == "request_rate")
    assert rate == pytest.approx(right, rel=0.05)
