"""Records into histograms: what is counted, what is not, and that workers add up."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.record import Outcome, Record
from harness.recorder import Recorder
from harness.series import Series
from harness.window import Window

if TYPE_CHECKING:
    from tests.conftest import MakeRecord

ALL = Window()


def _recorder(records: list[Record], window: Window = ALL, loop: str = "open") -> Recorder:
    recorder = Recorder(window, loop)
    for record in records:
        recorder.add(record)
    return recorder


def test_units_are_whole_microseconds_tokens_and_thousandths(make_record: MakeRecord) -> None:
    recorder = _recorder([make_record(chunks=(100, 110.0004, 120.0006))])
    assert recorder.histogram("ttft", "response").maximum == 100_000
    assert recorder.histogram("chunk_gap").minimum == 10_000
    assert recorder.histogram("output_tokens").maximum == 3
    assert recorder.histogram("output_rate_per_user").maximum == 99_997


def test_bases_are_apart_in_an_open_loop_only(make_record: MakeRecord) -> None:
    record = make_record(sent=40)
    open_loop, closed = _recorder([record]), _recorder([record], loop="closed")
    assert open_loop.histogram("ttft", "response").maximum == 100_000
    assert open_loop.histogram("ttft", "service").maximum == 60_000
    assert closed.histogram("ttft").maximum == 60_000
    assert Series("schedule_lag") not in closed.columns()


@pytest.mark.parametrize("outcome", [each for each in Outcome if not each.succeeded])
def test_A4_06_failures_are_in_no_percentile(make_record: MakeRecord, outcome: Outcome) -> None:
    recorder = _recorder([make_record(outcome=outcome), make_record()])
    assert {column.histogram.n for column in recorder.columns().values()} <= {1, 3}


def test_A6_06_warm_up_is_left_out_by_due_time(make_record: MakeRecord) -> None:
    """A request due in warm-up stays out though it ends in the window; one due in the window stays in."""
    slow = make_record(due=0, chunks=(8_000, 12_000))
    steady = [make_record(due=10_000 + 1_000 * i, chunks=(200, 300)) for i in range(5)]
    recorder = _recorder([slow, *steady], Window(start_ns=10 * 10**9, end_ns=15 * 10**9))
    ttft = recorder.histogram("ttft", "response")
    assert (ttft.n, ttft.maximum) == (5, 200_000)


def test_reason_is_the_commonest(make_record: MakeRecord) -> None:
    in_one_piece = make_record(chunks=(), streamed=False, output_tokens=3)
    columns = _recorder([make_record(chunks=(), outcome="ok_empty"), in_one_piece, in_one_piece]).columns()
    assert columns[Series("tpot")].reason == "the answer came in one piece, not as a stream"
    assert type(columns[Series("tpot")].reason) is str  # JSON knows no subclasses of it
    assert "no request succeeded" in (_recorder([]).columns()[Series("tpot")].reason or "")


def test_value_beyond_the_range_is_counted_and_not_clipped(make_record: MakeRecord) -> None:
    hours = make_record(chunks=(100, 5 * 3_600_000))
    column = _recorder([make_record(), hours]).columns()[Series("e2e", "response")]
    assert (column.num_unfit, column.histogram.n) == (1, 1)


@given(
    st.lists(
        st.tuples(st.integers(0, 7), st.lists(st.integers(0, 10**10), min_size=1, max_size=8)), max_size=60
    )
)
def test_B2_03_workers_add_up_bit_for_bit(requests: list[tuple[int, list[int]]]) -> None:
    """Eight recorders merged hold the counts of one that saw everything."""
    one, workers = Recorder(ALL, "open"), [Recorder(ALL, "open") for _ in range(8)]
    for worker, times in requests:
        chunk_ns = sorted(times)
        record = Record(
            index=0,
            due_ns=0,
            sent_ns=0,
            chunk_ns=chunk_ns,
            chunk_tokens=[1] * len(chunk_ns),
            done_ns=chunk_ns[-1],
            outcome=Outcome.OK,
            output_tokens=len(chunk_ns),
        )
        one.add(record)
        workers[worker].add(record)
    merged = Recorder(ALL, "open")
    for each in workers:
        merged.merge(each.state())
    for series, column in one.columns().items():
        other = merged.columns()[series]
        assert column.histogram.counts.tolist() == other.histogram.counts.tolist()
        assert column.missing == other.missing


def test_A7_06_memory_is_flat_in_tokens(make_record: MakeRecord) -> None:
    """Two million more tokens take no more memory."""
    recorder = Recorder(ALL, "open")
    long = make_record(chunks=tuple(100 + 10 * i for i in range(4_000)))
    for _ in range(64):
        recorder.add(long)
    recorder.columns()
    tracemalloc.start()
    for _ in range(512):
        recorder.add(long)
    recorder.columns()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert recorder.histogram("itl").n == 576 * 3_999
    assert grown < 1_000_000
