"""The rows of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.summary.request_rows import RequestRows

if TYPE_CHECKING:
    from tests.conftest import MakeRecord


def test_few_requests_are_all_there_in_order(make_record: MakeRecord) -> None:
    rows = RequestRows("open", max_rows=5)
    for index in (2, 0, 1):
        rows.add(
            make_record(index, due=10, sent=12, outcome="timeout" if index == 1 else "ok"),
            measured=index != 2,
        )
    first, second, third = rows.rows()
    assert [row.index for row in (first, second, third)] == [0, 1, 2]
    assert (first.start_s, first.ttft, first.tpot, first.e2e) == (0.012, 100_000_000, 10_000_000, 130_000_000)
    assert (first.schedule_lag, second.outcome, third.measured) == (2_000_000, "timeout", False)


def test_failures_come_first_when_there_are_too_many(make_record: MakeRecord) -> None:
    rows = RequestRows("open", max_rows=20)
    for index in range(1_000):
        rows.add(make_record(index, outcome="reset" if index % 100 == 0 else "ok"), measured=True)
    shown = rows.rows()
    assert [row.index for row in shown[:10]] == list(range(0, 1_000, 100))
    assert len(shown) == rows.num_requests - 980 == 20
    assert {row.outcome for row in shown[10:]} == {"ok"}


def test_rest_is_an_even_sample_of_the_whole_run(make_record: MakeRecord) -> None:
    rows = RequestRows("open", max_rows=200)
    for index in range(2_000):
        rows.add(make_record(index), measured=True)
    late = sum(row.index >= 1_000 for row in rows.rows())
    assert 70 <= late <= 130


def test_closed_loop_has_no_schedule_lag(make_record: MakeRecord) -> None:
    rows = RequestRows("closed")
    rows.add(make_record(sent=30), measured=True)
    assert (rows.rows()[0].schedule_lag, rows.rows()[0].ttft) == (None, 70_000_000)
