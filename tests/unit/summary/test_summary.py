"""From records to rates, shares, tables and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from harness.record import Outcome, Record, TokenSource
from harness.sla.grammar import rules_from
from harness.summary import Summarizer, Summary
from harness.terms import Terms
from harness.window import Window

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.conftest import MakeRecord

S = 10**9
TTFT = rules_from({"ttft": ["p99 <= 500ms"]})


def _summary(
    records: Iterable[Record],
    window: Window | None = None,
    rules: Any = (),
    loop: str = "open",
    **options: Any,
) -> Summary:
    summarizer = Summarizer(window or Window(), loop, rules=rules, **options)
    for record in records:
        summarizer.add(record)
    return summarizer.summary(summarizer.snapshot())


def _rates(summary: Summary) -> dict[str, float | None]:
    return {rate.name: rate.value for rate in summary.rates}


def test_A6_06_tokens_count_by_their_arrival(make_record: MakeRecord) -> None:
    """Of a request from warm-up only the tokens that came inside the window count, and no latency."""
    early = make_record(due=0, chunks=(8_000, 9_500, 10_500, 12_000))
    late = make_record(due=19_000, chunks=(500, 900, 1_500))
    window = Window(start_ns=10 * S, end_ns=20 * S, fixed=True)
    summary = _summary([early, late], window)
    assert _rates(summary)["output_token_rate"] == pytest.approx(4 / 10)
    assert _rates(summary)["request_rate"] == pytest.approx(1 / 10)
    assert summary.window_s == (10, 20)
    ttft = next(each for each in summary.metrics if (each.name, each.basis) == ("ttft", "response"))
    assert (ttft.n, ttft.maximum) == (1, 500e6)


def test_tokens_of_a_cut_request_count_and_its_latency_does_not(make_record: MakeRecord) -> None:
    cut = make_record(outcome="cut", chunks=(100, 200), done_ns=S)
    rates = _rates(_summary([make_record(chunks=(100, 900, 1_000)), cut]))
    assert rates["output_token_rate"] == pytest.approx(5)
    assert rates["error_rate"] == 0


def test_prompts_of_cut_requests_that_are_unknown_are_left_out_and_counted(make_record: MakeRecord) -> None:
    """The server tells the length of a prompt at the end of an answer."""
    known = make_record(chunks=(100, 900, 1_000), prompt_tokens=8)
    cut = [make_record(outcome="cut", chunks=(100,), done_ns=S, prompt_tokens=None) for _ in range(3)]
    summary = _summary([known, *cut])
    assert _rates(summary)["input_token_rate"] == pytest.approx(8)
    assert any("prompts of 3 requests that were cut off or cancelled" in note for note in summary.notes)


def test_without_any_known_prompt_there_is_no_input_rate(make_record: MakeRecord) -> None:
    """0 would be said of prompts that were sent."""
    cut = make_record(outcome="cut", chunks=(100,), done_ns=S, prompt_tokens=None)
    known = make_record(prompt_tokens=8)
    silent = make_record(prompt_tokens=None)
    for records, num in (([cut], 1), ([known, silent, cut], 1)):
        (rate,) = (rate for rate in _summary(records).rates if rate.name == "input_token_rate")
        assert rate.value is None
        assert rate.reason == f"{num} requests have an unknown number of tokens"


def test_A4_01_a_broken_stream_counts_in_no_rate_but_the_error_rate(make_record: MakeRecord) -> None:
    broken = make_record(outcome="stream_error", message="overloaded", detail="500")
    rates = _rates(_summary([broken, make_record(chunks=(500, 1_000))]))
    assert rates["request_rate"] == pytest.approx(1)
    assert rates["output_token_rate"] == pytest.approx(2)
    assert rates["error_rate"] == pytest.approx(0.5)


def test_A2_06_rate_follows_usage_and_says_that_frames_disagree(make_record: MakeRecord) -> None:
    """1,000 tokens in 6.4 s though only 130 frames held text."""
    chunks = tuple(100 + 6_300 * i / 129 for i in range(130))
    summary = _summary([make_record(chunks=chunks, output_tokens=1_000, usage_tokens=1_000)])
    assert _rates(summary)["output_token_rate"] == pytest.approx(156.25)
    assert any("usage and chunks disagree: 1000 tokens in 130 chunks" in note for note in summary.notes)


@pytest.mark.parametrize(("usage", "warned"), [(98, True), (99, False), (101, False), (103, True)])
def test_A2_06_warning_begins_above_two_per_cent(make_record: MakeRecord, usage: int, warned: bool) -> None:
    chunks = tuple(range(100, 200))
    summary = _summary([make_record(chunks=chunks, output_tokens=usage, usage_tokens=usage)])
    assert any("disagree" in note for note in summary.notes) == warned


def test_A2_11_without_usage_the_rate_is_an_estimate_and_says_so(make_record: MakeRecord) -> None:
    summary = _summary([make_record(token_source=TokenSource.CHUNKS, usage_tokens=None)])
    assert (_rates(summary)["output_token_rate"] or 0) > 0
    assert summary.token_source == "chunks"
    assert any("estimate" in note for note in summary.notes)


def test_mixed_token_sources_are_named(make_record: MakeRecord) -> None:
    records = [make_record(), make_record(token_source=TokenSource.TOKENIZER, usage_tokens=None)]
    assert _summary(records).token_source == "mixed"


def test_B2_08_attainment_counts_errors_and_leaves_out_cut_and_unmeasurable(make_record: MakeRecord) -> None:
    """80 good (72 within 500 ms), 10 errors, 5 cut, 5 without a first token: 72 of 90."""
    good = [make_record(i, chunks=(100 if i < 72 else 900, 1_000)) for i in range(80)]
    errors = [make_record(outcome="http_error", chunks=()) for _ in range(10)]
    cut = [make_record(outcome="cut") for _ in range(5)]
    silent = [make_record(outcome="ok_empty", chunks=()) for _ in range(5)]
    summary = _summary([*good, *errors, *cut, *silent], rules=TTFT)
    attainment = next(rate for rate in summary.rates if rate.name == "attainment")
    assert (attainment.value, attainment.numerator, attainment.denominator) == (0.8, 72, 90)
    assert _rates(summary)["goodput"] == pytest.approx(72)
    assert any(note.startswith("5 requests were cut off") for note in summary.notes)
    assert any(note.startswith("5 requests lack a value") for note in summary.notes)


def test_request_must_meet_every_objective_and_may_lack_none(make_record: MakeRecord) -> None:
    rules = rules_from({"ttft": ["p99 <= 500ms"], "tpot": ["mean <= 20ms"]})
    slow_first = make_record(chunks=(600,))
    slow_rest = make_record(chunks=(100, 200, 300))
    one_token = make_record(chunks=(100,))
    summary = _summary([make_record(), slow_first, slow_rest, one_token], rules=rules)
    attainment = next(rate for rate in summary.rates if rate.name == "attainment")
    assert (attainment.numerator, attainment.denominator) == (1, 3)


def test_without_objectives_goodput_has_a_reason(make_record: MakeRecord) -> None:
    rate = next(rate for rate in _summary([make_record()]).rates if rate.name == "goodput")
    assert (rate.value, rate.reason) == (None, "no objective of single requests is stated")


def test_A4_08_failures_by_class_with_a_sample(make_record: MakeRecord) -> None:
    bad = [
        make_record(outcome="http_error", detail="400", message="no such model" * 100, chunks=())
        for _ in range(499)
    ]
    late = make_record(outcome="timeout", detail="idle", message="silent for 60 s", chunks=())
    errors = _summary([*bad, late, make_record()]).errors
    assert [(each.outcome, each.detail, each.count) for each in errors] == [
        ("http_error", "400", 499),
        ("timeout", "idle", 1),
    ]
    assert errors[0].sample.startswith("no such model")
    assert len(errors[0].sample) == 500


def test_A5_01_two_empty_answers_of_three_hundred(make_record: MakeRecord) -> None:
    empty = [make_record(outcome="ok_empty", chunks=(), output_tokens=0) for _ in range(2)]
    summary = _summary([*(make_record() for _ in range(298)), *empty])
    tpot = next(each for each in summary.metrics if each.name == "tpot")
    assert tpot.n == 298
    assert "2 of 300 answers held no token: in no statistics of tokens" in summary.notes


def test_stalls_are_counted(make_record: MakeRecord) -> None:
    records = [make_record(chunks=(100, 1_200, 2_500)), make_record(chunks=(100, 1_100)), make_record()]
    notes = _summary(records, terms=Terms(stall_limit_ns=S)).notes
    assert "2 stalls longer than 1s in 1 requests" in notes
    assert not any("stalls" in note for note in _summary(records).notes)


def test_A8_06_cold_connections_are_counted(make_record: MakeRecord) -> None:
    records = [make_record(i, connect_ns=100_000_000 if i < 8 else 0) for i in range(20)]
    assert any("8 of 20 requests opened a new connection (100 ms" in note for note in _summary(records).notes)


@pytest.mark.parametrize(
    ("loop", "where"), [("open", "part of their response times"), ("closed", "part of none of their times")]
)
def test_A8_06_where_connecting_is_counted(make_record: MakeRecord, loop: str, where: str) -> None:
    notes = _summary([make_record(connect_ns=5_000_000)], loop=loop).notes
    assert any(where in note for note in notes)


def test_nothing_is_said_of_gaps_where_there_are_none(make_record: MakeRecord) -> None:
    assert not any("itl" in note for note in _summary([make_record(chunks=(100,), output_tokens=1)]).notes)


def test_closed_loop_says_that_it_has_no_intended_times(make_record: MakeRecord) -> None:
    summary = _summary([make_record()], loop="closed")
    assert any(note.startswith("closed loop: no intended times") for note in summary.notes)
    lag = next(each for each in summary.metrics if each.name == "schedule_lag")
    assert (lag.n, lag.reason) == (0, "closed loop: no intended times")


def test_metric_without_samples_has_a_reason() -> None:
    for metric in _summary([]).metrics:
        assert (metric.n, metric.mean, metric.percentiles) == (0, None, ())
        assert metric.reason


def test_B2_06_percentiles_lie_between_minimum_and_maximum(make_record: MakeRecord) -> None:
    for num in (1, 53):
        records = [make_record(i, chunks=(575 + 7.3 * i, 900)) for i in range(num)]
        for metric in _summary(records).metrics:
            values = [percentile.value for percentile in metric.percentiles]
            assert [metric.minimum, *values] == sorted([metric.minimum or 0, *values])
            assert values[-1] == metric.maximum


def test_percentiles_of_rules_are_among_those_shown(make_record: MakeRecord) -> None:
    summary = _summary([make_record()], rules=rules_from({"ttft": ["p97.5 < 1s"]}))
    ttft = next(each for each in summary.metrics if each.name == "ttft")
    assert 97.5 in [percentile.p for percentile in ttft.percentiles]


def test_samples_are_the_first_with_text_and_short(make_record: MakeRecord) -> None:
    records = [make_record(i, prompt="p" * 3_000, answer="a") for i in range(5)]
    samples = _summary([make_record(9), *records], max_samples=2).samples
    assert [(each.index, len(each.prompt)) for each in samples] == [(0, 2_000), (1, 2_000)]


def test_outcomes_cover_the_whole_run(make_record: MakeRecord) -> None:
    records = [make_record(i, due=i, outcome=outcome) for i, outcome in enumerate(Outcome)]
    summary = _summary(records, Window(start_ns=5_000_000))
    assert summary.outcomes == dict.fromkeys((each.value for each in Outcome), 1)
    assert summary.num_requests == len(Outcome)


def test_order_of_records_does_not_matter(make_record: MakeRecord) -> None:
    """Apart from the samples, a journal in any order gives the same numbers."""
    records = [make_record(i, due=37 * i, chunks=(50 + i % 7, 90 + i % 11)) for i in range(150)]
    assert _summary(records, rules=TTFT) == _summary(records[::-1], rules=TTFT)
