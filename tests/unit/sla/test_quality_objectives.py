"""Objectives on the quality that a scenario measures before its load."""

from __future__ import annotations

import dataclasses
import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from support.client_health import healthy

from harness.objectives import objectives_of
from harness.past_scenario import past_scenario
from harness.quality.figures import Quality
from harness.quality_figures import QUALITY_FIGURES
from harness.result_folder import Manifest
from harness.sla.errors import RuleError
from harness.sla.grammar import rule_from, rules_from
from harness.sla.judge import judge
from harness.sla.keywords import rules_of_keywords
from harness.sla.preconditions import demand_judgeable
from harness.summary import Summarizer
from harness.window import Window
from reports.result import Verdict
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from pathlib import Path

    from reports.result import RuleResult
    from tests.conftest import MakeRecord

MEASURED = Quality(
    num_tokens=1000,
    num_unlisted=0,
    perplexity=27.42,
    reference_perplexity=27.40,
    perplexity_ratio=1.001,
    ratio_error=0.001,
    kl_mean=0.0004,
    kl_p99=0.002,
    kl_mass=0.8,
    top1_agreement=0.987,
)
SCENARIO: dict[str, Any] = {
    "schema": 1,
    "name": "s",
    "load": {"arrivals": "closed", "concurrency": 1, "requests": 2},
    "prompts": {"source": "text", "text": "x"},
}


@pytest.mark.parametrize(
    ("key", "condition", "canonical"),
    [
        ("perplexity", "< 30", "perplexity < 30"),
        ("perplexity_ratio", "<= 1.005", "perplexity_ratio <= 1.005"),
        ("kl_top_mean", "< 0.01 nats", "kl_top_mean < 0.01 nats"),
        ("kl_top_p99", "< 0.1", "kl_top_p99 < 0.1 nats"),
        ("top1_agreement", "> 98%", "top1_agreement > 98%"),
    ],
)
def test_canonical_form(key: str, condition: str, canonical: str) -> None:
    rule = rule_from(key, condition)
    assert str(rule) == canonical
    assert rule_from(rule.key, rule.condition) == rule


def test_as_keywords() -> None:
    stated = {"perplexity": 30, "perplexity_ratio": "1.005", "kl_top_mean": 0.01, "top1_agreement": "98%"}
    assert list(map(str, rules_of_keywords(stated))) == [
        "perplexity <= 30",
        "perplexity_ratio <= 1.005",
        "kl_top_mean <= 0.01 nats",
        "top1_agreement >= 98%",
    ]


@pytest.mark.parametrize(
    ("key", "condition", "named"),
    [
        ("kl_mean", "< 0.01", "did you mean 'kl_top_mean'"),
        ("perplexity", "p99 < 30", "single number"),
        ("perplexity", "< 30ms", "is no number"),
        ("top1_agreement", "> 1", "1% or 100%"),
        ("kl_top_mean", "0.01", "'< 0.01'"),
    ],
)
def test_what_is_no_objective_says_how_to_write_it(key: str, condition: str, named: str) -> None:
    with pytest.raises(RuleError, match=named):
        rule_from(key, condition)


@pytest.fixture
def verdict_of(make_record: MakeRecord) -> Any:
    """``verdict_of(rule, quality=MEASURED)``: judged beside the latencies of a run of 20 requests."""

    def judged(key: str, condition: str, quality: Quality | None = MEASURED) -> RuleResult:
        rules = rules_from({key: [condition]})
        summarizer = Summarizer(Window(), "closed", rules=rules)
        for index in range(20):
            summarizer.add(make_record(index, due=10.0 * index))
        snapshot = summarizer.snapshot(health=healthy())
        snapshot = dataclasses.replace(snapshot, quality=quality)
        (result,) = judge(rules, snapshot, healthy()).rules
        return result

    return judged


@pytest.mark.parametrize(
    ("key", "condition", "verdict"),
    [
        ("perplexity", "< 27.5", Verdict.PASS),
        ("perplexity", "< 27.42", Verdict.FAIL),
        ("kl_top_mean", "< 0.001", Verdict.PASS),
        ("kl_top_p99", "< 0.001", Verdict.FAIL),
        ("perplexity_ratio", "< 1.005", Verdict.PASS),
        ("perplexity_ratio", "< 1.002", Verdict.INCONCLUSIVE),
        ("perplexity_ratio", "< 1.0005", Verdict.INCONCLUSIVE),
        ("perplexity_ratio", "< 0.99", Verdict.FAIL),
        ("top1_agreement", "> 97%", Verdict.PASS),
        ("top1_agreement", "> 98.5%", Verdict.INCONCLUSIVE),
        ("top1_agreement", "> 99.5%", Verdict.FAIL),
    ],
)
def test_what_speaks_of_this_text_is_exact_and_what_goes_beyond_has_bounds(
    verdict_of: Any, key: str, condition: str, verdict: Verdict
) -> None:
    found = verdict_of(key, condition)
    assert found.verdict is verdict, found.message
    assert found.n == 1000
    assert found.observed == getattr(MEASURED, QUALITY_FIGURES[key].field)


def test_bounds_of_the_ratio_are_those_of_its_logarithm(verdict_of: Any) -> None:
    found = verdict_of("perplexity_ratio", "< 1.002")
    room = NormalDist().inv_cdf(0.95) * 0.001
    assert (found.low, found.high) == pytest.approx((1.001 * math.exp(-room), 1.001 * math.exp(room)))
    needed = 1000 * (room / math.log(1.002 / 1.001)) ** 2
    assert found.more_needed == pytest.approx(needed - 1000, abs=1)


@pytest.mark.parametrize(
    ("key", "quality", "named"),
    [
        ("perplexity", None, "states no quality"),
        ("kl_top_mean", Quality(num_tokens=5, num_unlisted=0, perplexity=9.0), "no reference"),
        ("perplexity", Quality(num_tokens=5, num_unlisted=2, perplexity=9.0), "raise quality.top"),
    ],
)
def test_without_a_value_it_is_invalid_and_never_passes(
    verdict_of: Any, key: str, quality: Quality | None, named: str
) -> None:
    found = verdict_of(key, "< 100", quality)
    assert (found.verdict, named in found.message) == (Verdict.INVALID, True), found.message


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, "state quality: {}"),
        ({"quality": {}}, "nothing to hold the server against"),
    ],
)
def test_a_run_that_would_have_no_value_is_refused_before_the_load(
    changes: dict[str, Any], named: str
) -> None:
    scenario = scenario_from(SCENARIO | {"thresholds": {"kl_top_mean": ["< 0.01"]}} | changes)
    with pytest.raises(RuleError, match=named):
        objectives_of(scenario, scenario.schedule())


def test_it_can_not_end_a_run_as_decided() -> None:
    rules = rules_from({"perplexity": ["< 30"]})
    demand_judgeable(rules, loop="closed", quality=True)
    with pytest.raises(RuleError, match=r"take stop\.decided out"):
        demand_judgeable(rules, loop="closed", quality=True, until_decided=True)


def test_a_past_run_is_judged_again_without_its_files(tmp_path: Path) -> None:
    reference = tmp_path / "reference.json"
    reference.write_text("{}")
    stated = {
        "thresholds": {"kl_top_mean": ["< 0.01"]},
        "quality": {"reference": str(reference), "window": 64},
    }
    scenario = scenario_from(SCENARIO | stated)
    assert list(map(str, objectives_of(scenario, scenario.schedule()))) == ["kl_top_mean < 0.01 nats"]
    reference.unlink()
    past = past_scenario(scenario.to_mapping()).quality
    assert past is not None
    assert (past.window, past.reference) == (64, None)


def test_a_manifest_keeps_it() -> None:
    kept = msgspec.json.decode(msgspec.json.encode(MEASURED), type=Quality)
    assert kept == MEASURED
    assert Manifest.__struct_defaults__[-1] is None
