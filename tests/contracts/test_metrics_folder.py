"""What every metric keeps to, whichever files the folder holds."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING

import pytest

from harness import metrics
from harness.metrics import ClientError, Metric, Missing, RequestMetric, TokenMetric, Unit
from harness.recorder import step
from harness.terms import Terms
from scenarios.token_deadlines import TokenDeadlines

if TYPE_CHECKING:
    from harness.record import Record
    from tests.conftest import MakeRecord


@pytest.fixture(params=metrics.names())
def metric(request: pytest.FixtureRequest) -> Metric:
    return metrics.metric(request.param).under(Terms(TokenDeadlines(ttft="100ms", tpot="10ms"), 1))


@pytest.fixture
def awkward(make_record: MakeRecord) -> tuple[Record, ...]:
    """Requests that succeeded and lack one thing or another."""
    return (
        make_record(chunks=(), outcome="ok_empty"),
        make_record(chunks=(), outcome="ok_empty", output_tokens=0),
        make_record(chunks=(100,)),
        make_record(chunks=(100, 100)),
        make_record(output_tokens=None, token_source=None),
        make_record(prompt_tokens=None),
        make_record(answer_index=None),
        make_record(chunks=(), streamed=False, output_tokens=7),
        make_record(chunks=(90,), streamed=False, output_tokens=7),
        make_record(chunk_tokens=[4, 0, 1, 1], chunk_tokens_exact=True, output_tokens=6),
        make_record(output_tokens=1),
    )


def test_name_is_that_of_the_file(metric: Metric) -> None:
    assert metric.name in metrics.names()
    assert type(metric).__module__ == f"harness.metrics.{metric.name}"


def test_says_what_it_is(metric: Metric) -> None:
    assert isinstance(metric, RequestMetric | TokenMetric)
    assert isinstance(metric.unit, Unit)
    assert step(metric.unit) > 0
    assert inspect.getdoc(type(metric))


def test_only_times_have_bases_or_the_harness_error(metric: Metric) -> None:
    if metric.unit is not Unit.NS:
        assert not metric.has_bases or metric.needs_deadlines
        assert metric.client_error is ClientError.NONE


def test_plain_stream_has_a_value(metric: Metric, make_record: MakeRecord) -> None:
    values = metric.values(make_record(), 0)
    assert not isinstance(values, Missing)
    assert len(values) > 0


def test_value_is_finite_or_has_a_reason(metric: Metric, awkward: tuple[Record, ...]) -> None:
    for record in awkward:
        values = metric.values(record, 0)
        if isinstance(values, Missing):
            assert len(values) > 10
        else:
            assert len(values) > 0
            assert all(math.isfinite(each) and each >= 0 for each in values)


def test_needs_stream_means_no_value_in_one_piece(metric: Metric, make_record: MakeRecord) -> None:
    record = make_record(chunks=(90,), streamed=False, output_tokens=7)
    assert isinstance(metric.values(record, 0), Missing) == metric.needs_stream
