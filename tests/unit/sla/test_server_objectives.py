"""Objectives on what the server says of itself."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.client_health import healthy

from harness.server_figures import SERVER_FIGURES
from harness.sla.errors import RuleError
from harness.sla.grammar import rule_from, rules_from
from harness.sla.judge import judge
from harness.sla.keywords import rules_of_keywords
from harness.sla.preconditions import demand_judgeable
from harness.summary import Summarizer
from harness.telemetry.figures import Figures
from harness.telemetry.log import Absent, Fault, Line, Reading, Source
from harness.telemetry.server_samples import server_samples
from harness.window import Window
from reports.result import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.sla.judge import Judgement
    from reports.result import RuleResult
    from tests.conftest import MakeRecord

SECOND = 1_000_000_000
SOURCE = Source(url="http://h/metrics", dialect="vllm")


@pytest.mark.parametrize(
    ("key", "condition", "canonical"),
    [
        ("server_kv_cache_usage", "max < 90%", "server_kv_cache_usage max < 90%"),
        ("server_kv_cache_usage", "mean <= 0.8", "server_kv_cache_usage mean <= 80%"),
        ("server_requests_waiting", "p95 < 4", "server_requests_waiting p95 < 4"),
        ("server_requests_running", "min >= 1 request", "server_requests_running min >= 1"),
        ("server_preemptions", "max <= 0", "server_preemptions max <= 0"),
    ],
)
def test_canonical_form(key: str, condition: str, canonical: str) -> None:
    rule = rule_from(key, condition)
    assert str(rule) == canonical
    assert rule_from(rule.key, rule.condition) == rule


def test_as_keywords() -> None:
    stated = {"server_kv_cache_usage_max": "90%", "server_requests_waiting_p95": 4}
    assert list(map(str, rules_of_keywords({**stated, "server_preemptions_max": 0}))) == [
        "server_kv_cache_usage max <= 90%",
        "server_requests_waiting p95 <= 4",
        "server_preemptions max <= 0",
    ]


@pytest.mark.parametrize(
    ("key", "condition", "said"),
    [
        ("server_kv_cache", "max < 90%", "did you mean 'server_kv_cache_usage'"),
        ("server_kv_cache_usage", "< 90%", "which value of it"),
        ("server_kv_cache_usage", "max <= 100%", "always holds"),
        ("server_requests_waiting", "p95 < 4/s", "no number of requests"),
        ("server_requests_waiting", "p95 < 400ms", "no number of requests"),
        ("service_server_preemptions", "max < 1", "has no bases"),
    ],
)
def test_what_is_none(key: str, condition: str, said: str) -> None:
    with pytest.raises(RuleError, match=said):
        rule_from(key, condition)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"telemetry": False}, "leave --no-telemetry out"), ({"until_decided": True}, "take stop.decided out")],
)
def test_refused_before_any_load(options: dict[str, bool], said: str) -> None:
    rules = rules_from({"server_kv_cache_usage": ["max < 90%"]})
    with pytest.raises(RuleError, match=said):
        demand_judgeable(rules, loop="closed", **options)
    demand_judgeable(rules, loop="closed")


def _lines(field: str, values: Iterable[float | None]) -> list[Line]:
    """One look a second, in the middle of each."""
    figures = (Figures(**{field: value}) for value in values)
    return [
        SOURCE,
        *(Reading(at_ns=i * SECOND + SECOND // 2, figures=each) for i, each in enumerate(figures)),
    ]


def _judgement(
    make_record: MakeRecord,
    thresholds: dict[str, list[str]],
    lines: Sequence[Line] | None,
    window_s: tuple[float, float],
) -> Judgement:
    rules = rules_from(thresholds)
    summarizer = Summarizer(Window(), "closed", rules=rules)
    for index in range(100):
        summarizer.add(make_record(index, due=10.0 * index))
    snapshot = summarizer.snapshot(health=healthy())
    if lines is not None:
        window_ns = (round(window_s[0] * SECOND), round(window_s[1] * SECOND))
        snapshot = dataclasses.replace(snapshot, server=server_samples(lines, window_ns))
    return judge(rules, snapshot, healthy())


def _judged(
    make_record: MakeRecord,
    key: str,
    condition: str,
    lines: Sequence[Line] | None,
    window_s: tuple[float, float] = (0, 1_000),
) -> RuleResult:
    return _judgement(make_record, {key: [condition]}, lines, window_s).rules[0]


def test_the_largest_is_exact_of_what_was_seen_and_says_how_often(make_record: MakeRecord) -> None:
    """89.98 % is under 90 %, though a histogram of shares has steps of 0.05 %."""
    lines = _lines("kv_usage", [0.2, 0.8998, 0.5])
    judged = _judged(make_record, "server_kv_cache_usage", "max < 90%", lines)
    assert (judged.verdict, judged.observed, judged.n) == (Verdict.PASS, 0.8998, 3)
    assert "of 3; the server was looked at every 1 s" in judged.message
    assert _judged(make_record, "server_kv_cache_usage", "max < 89.98%", lines).verdict is Verdict.FAIL
    assert _judged(make_record, "server_kv_cache_usage", "min >= 20%", lines).verdict is Verdict.PASS


def test_only_looks_inside_the_window_count(make_record: MakeRecord) -> None:
    lines = _lines("waiting", [9, 9, 1, 2, 9])
    inside = _judged(make_record, "server_requests_waiting", "max < 4", lines, (2, 4))
    assert (inside.verdict, inside.observed, inside.n) == (Verdict.PASS, 2, 2)
    assert _judged(make_record, "server_requests_waiting", "max < 4", lines).verdict is Verdict.FAIL


def _noise(num: int, share_over: float, seed: int = 3) -> list[float | None]:
    return [float(x) for x in np.where(np.random.default_rng(seed).random(num) < share_over, 5, 1)]


def test_percentiles_go_by_the_exact_rule(make_record: MakeRecord) -> None:
    few = _judged(make_record, "server_requests_waiting", "p95 < 4", _lines("waiting", [1] * 40))
    assert few.verdict is Verdict.INCONCLUSIVE
    many = _judged(make_record, "server_requests_waiting", "p95 < 4", _lines("waiting", _noise(600, 0.01)))
    assert many.verdict is Verdict.PASS
    over = _judged(make_record, "server_requests_waiting", "p95 < 4", _lines("waiting", _noise(600, 0.2)))
    assert over.verdict is Verdict.FAIL
    assert "of 600 over the limit; the server was looked at every 1 s" in over.message


def test_looks_that_follow_each_other_say_less(make_record: MakeRecord) -> None:
    """2 % over the limit, strewn or in two long spells."""
    spells: list[float | None] = [5.0 if i % 300 < 6 else 1.0 for i in range(600)]
    strewn = [float(x) for x in np.random.default_rng(1).permutation(np.array(spells, np.float64))]
    tied = _judged(make_record, "server_requests_waiting", "p95 < 4", _lines("waiting", spells))
    free = _judged(make_record, "server_requests_waiting", "p95 < 4", _lines("waiting", strewn))
    assert free.verdict is Verdict.PASS
    assert tied.n == free.n == 600
    assert tied.n_eff is not None
    assert tied.n_eff < 300
    assert tied.verdict is not Verdict.PASS


def test_values_near_the_limit_stay_on_their_side(make_record: MakeRecord) -> None:
    """90.01 % is over 90 %, 89.99 % is not."""
    over = _judged(make_record, "server_kv_cache_usage", "p50 <= 90%", _lines("kv_usage", [0.9001] * 50))
    under = _judged(make_record, "server_kv_cache_usage", "p50 < 90%", _lines("kv_usage", [0.8999] * 50))
    assert (over.verdict, under.verdict) == (Verdict.FAIL, Verdict.PASS)


def test_means_have_bounds(make_record: MakeRecord) -> None:
    lines = _lines("running", [float(x) for x in np.random.default_rng(2).integers(3, 8, 300)])
    judged = _judged(make_record, "server_requests_running", "mean < 7", lines)
    assert judged.verdict is Verdict.PASS
    assert judged.low is not None
    assert judged.high is not None
    assert judged.low < 5 < judged.high < 7


def test_preemptions_are_growths_that_reach_into_the_window(make_record: MakeRecord) -> None:
    """Three before it, none inside, one across its end; a restarted server counts from zero."""
    lines = _lines("preemptions", [10, 13, 13, 13, 14, 20])
    assert _judged(make_record, "server_preemptions", "max <= 0", lines, (1.5, 3.5)).verdict is Verdict.PASS
    across = _judged(make_record, "server_preemptions", "max <= 0", lines, (1.5, 3.6))
    assert (across.verdict, across.observed, across.n) == (Verdict.FAIL, 1, 3)
    restarted = _judged(make_record, "server_preemptions", "max <= 0", _lines("preemptions", [9, 0, 2]))
    assert restarted.observed == 2


def test_a_counter_first_seen_inside_the_window_passes_nothing(make_record: MakeRecord) -> None:
    """What it counted before is not known."""
    judged = _judged(make_record, "server_preemptions", "max <= 0", _lines("preemptions", [None, 3, 3]))
    assert (judged.verdict, judged.observed) == (Verdict.INVALID, None)
    assert "first 1.5 s into the measured window" in judged.message


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (None, "metrics were not read"),
        ([], "metrics were not read"),
        ([Absent(message="http://h/metrics answered 404")], "http://h/metrics answered 404"),
        (_lines("running", [1, 2]), "http://h/metrics (vllm) doesn't say it"),
        (_lines("kv_usage", [None, None]), "doesn't say it"),
        (
            [SOURCE, Reading(at_ns=-5, figures=Figures(kv_usage=0.1))],
            "not looked at inside the measured window",
        ),
        ([SOURCE, Fault(at_ns=5, message="gone")], "doesn't say it"),
    ],
)
def test_nothing_seen_is_never_a_pass(make_record: MakeRecord, lines: Any, said: str) -> None:
    judged = _judged(make_record, "server_kv_cache_usage", "max < 90%", lines)
    assert (judged.verdict, judged.observed) == (Verdict.INVALID, None)
    assert judged.message.startswith("no sample of server_kv_cache_usage: ")
    assert said in judged.message


def test_the_run_is_as_bad_as_its_server(make_record: MakeRecord) -> None:
    thresholds = {"ttft": ["p50 < 10s"], "server_kv_cache_usage": ["max < 90%"]}
    judgement = _judgement(make_record, thresholds, _lines("kv_usage", [0.95]), (0, 10))
    assert [rule.verdict for rule in judgement.rules] == [Verdict.PASS, Verdict.FAIL]
    assert judgement.verdict is Verdict.FAIL


def test_what_the_server_says_is_no_objective_of_single_requests() -> None:
    assert rule_from("server_kv_cache_usage", "max < 90%").objective() is None
    with pytest.raises(RuleError, match="no objective says what a good request is"):
        demand_judgeable(
            rules_from({"server_kv_cache_usage": ["max < 90%"], "goodput": ["> 1/s"]}), loop="closed"
        )


def test_every_figure_is_one_that_telemetry_reads() -> None:
    assert {each.field for each in SERVER_FIGURES.values()} <= set(Figures.__struct_fields__)
