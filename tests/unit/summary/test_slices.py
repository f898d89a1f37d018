"""The run over time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from harness.series import Series
from harness.summary.in_flight import peaks_in_flight
from harness.summary.slices import Slices
from harness.summary.token_arrivals import token_arrivals

if TYPE_CHECKING:
    from harness.record import Record
    from tests.conftest import MakeRecord

TTFT = Series("ttft", "response")


def _slices(records: list[Record], max_slices: int = 128) -> Slices:
    slices = Slices(TTFT, max_slices)
    for record in records:
        slices.add(record, good=True)
    return slices


def test_B5_03_a_run_of_less_than_half_a_second_has_points(make_record: MakeRecord) -> None:
    points = _slices([make_record(i, due=30 * i) for i in range(10)]).points()
    assert 1 <= len(points) <= 128
    assert sum(point.sent for point in points) == sum(point.completed for point in points) == 10
    assert any(point.ttft for point in points)
    assert any(point.itl for point in points)


def test_no_request_still_makes_a_point() -> None:
    (point,) = _slices([]).points()
    assert (point.in_flight, point.sent) == (0, 0)


def test_long_run_stays_bounded_and_loses_nothing(make_record: MakeRecord) -> None:
    slices = _slices([make_record(i, due=1_000 * i) for i in range(3_600)])
    points = slices.points()
    assert 64 <= len(points) <= 128
    assert sum(point.sent for point in points) == 3_600
    assert sum(point.output_tokens for point in points) == 4 * 3_600
    assert points[0].ttft[0].value == pytest.approx(100e6, rel=1e-3)
    assert all(later.start_s > earlier.start_s for earlier, later in itertools.pairwise(points))


def test_slices_grown_longer_equal_slices_long_from_the_start(make_record: MakeRecord) -> None:
    """Whether the longest request comes first or last."""
    records = [make_record(i, due=211 * i, chunks=(50 + i % 50, 100, 170)) for i in range(400)]
    assert _slices(records, 16).points() == _slices(records[::-1], 16).points()


def test_looking_in_between_changes_nothing(make_record: MakeRecord) -> None:
    """Slices that are being merged little by little show the same at any time."""
    records = [make_record(i, due=97 * i, chunks=(50 + i % 50, 100, 170)) for i in range(600)]
    slices = Slices(TTFT, 16)
    for index, record in enumerate(records, start=1):
        slices.add(record, good=True)
        if index % 37 == 0:
            assert slices.points() == _slices(records[:index][::-1], 16).points()
    assert slices.points() == _slices(records, 16).points()


def test_things_are_counted_when_they_happen(make_record: MakeRecord) -> None:
    late = make_record(due=0, chunks=(40, 260))
    failed = make_record(due=100, chunks=(), outcome="reset", done_ns=320_000_000)
    points = _slices([late, failed]).points()
    assert [point.sent for point in points] == [1, 0, 1, 0, 0, 0, 0]
    assert [point.completed for point in points] == [0, 0, 0, 0, 0, 1, 0]
    assert [point.failed for point in points] == [0, 0, 0, 0, 0, 0, 1]
    assert [point.output_tokens for point in points] == [1, 0, 0, 0, 0, 1, 0]
    assert [point.in_flight for point in points] == [1, 1, 2, 2, 2, 2, 1]


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(1, 300)), min_size=1, max_size=40))
def test_in_flight_equals_counting_by_hand(requests: list[tuple[int, int]]) -> None:
    sent, done = [start for start, _ in requests], [start + length for start, length in requests]
    edges = np.arange(0, 1_300, 100)
    peaks = peaks_in_flight(sent, done, edges)
    by_hand = [
        max(sum(s <= t < d for s, d in zip(sent, done, strict=True)) for t in range(edge, edge + 100))
        for edge in edges[:-1]
    ]
    just_before = [sum(s < edge <= d for s, d in zip(sent, done, strict=True)) for edge in edges[:-1]]
    assert peaks.tolist() == [max(pair) for pair in zip(by_hand, just_before, strict=True)]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(1, 200))
def test_tokens_shared_out_are_all_of_them(counts: list[int], total: int) -> None:
    from harness.record import Outcome, Record  # a record without a fixture, for hypothesis

    record = Record(
        index=0,
        due_ns=0,
        chunk_ns=list(range(len(counts))),
        chunk_tokens=[*counts[:-1], counts[-1] + 1],
        done_ns=99,
        outcome=Outcome.OK,
        output_tokens=total,
    )
    at_ns, tokens = token_arrivals(record)
    assert int(tokens.sum()) == total
    assert tokens.min() >= 0
    assert at_ns.tolist() == record.chunk_ns


def test_chunks_without_a_token_have_their_gaps(make_record: MakeRecord) -> None:
    """As in a journal that somebody else wrote."""
    record = structs.replace(make_record(chunks=(1, 2, 9)), chunk_tokens=[0, 0, 0], output_tokens=0)
    assert _slices([record]).points()[0].itl[-1].value == pytest.approx(7e6, rel=1e-3)
