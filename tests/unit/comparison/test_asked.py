"""What can be asked for: figures, allowances, objectives relative to a baseline."""

from __future__ import annotations

import pytest

from harness.comparison.allowance import Allowances
from harness.comparison.errors import ComparisonError
from harness.comparison.figure import figures_of, matching, usual_figures
from harness.comparison.objectives import relative_rules_from, relative_rules_of_keywords
from harness.sla.errors import RuleError
from harness.sla.grammar import rules_from


def test_a_metric_alone_stands_for_four_figures() -> None:
    assert [str(each) for each in matching("ttft")] == ["ttft p50", "ttft p95", "ttft p99", "ttft mean"]
    assert [str(each) for each in figures_of(["goodput", "ttft p99.9", "goodput"])] == [
        "goodput",
        "ttft p99.9",
    ]


def test_the_usual_figures_are_times_and_rates() -> None:
    names = [str(each) for each in usual_figures()]
    assert len(names) == 19
    assert names[0] == "ttft p50"
    assert names[-3:] == ["goodput", "error_rate", "output_token_rate"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ttfb", "did you mean 'ttf"),
        ("ttft p0.5.1", "is no value of a metric"),
        ("ttft max", "compare a percentile: 'ttft p99'"),
        ("ttft p100", "compare a percentile: 'ttft p99'"),
        ("ttft(response) max", "compare a percentile: 'ttft p99'"),
        ("ttft p(0.0)", "compare a percentile: 'ttft p99'"),
        ("ttft p", "is no value of a metric"),
        ("goodput max", "goodput is a single number"),
        ("service_ttft p95", "can't be compared"),
        ("stall_max p95", "can't be compared"),
        ("goodput p95", "goodput is a single number"),
        ("input_token_rate", "can't be compared"),
    ],
)
def test_what_can_t_be_compared_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(ComparisonError, match=message):
        matching(text)


def test_the_nearer_allowance_holds() -> None:
    allowed = Allowances(["ttft p95 10%", "3%", "2 points", "error_rate 0.5 points"])
    (p95,), (p99,), (errors,), (share,) = map(matching, ("ttft p95", "ttft p99", "error_rate", "attainment"))
    assert [allowed.of(each) for each in (p95, p99, errors, share)] == [0.1, 0.03, 0.005, 0.02]
    assert Allowances().of(p99) == 0.05
    signed = Allowances(["ttft p95 +10%", "+3 %"])
    assert [signed.of(each) for each in (p95, p99)] == [0.1, 0.03]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ttft p95", "write 'ttft p95 10%'"),
        ("error_rate 1%", "is told in points"),
        ("ttft p95 1 point", "is told in per cent"),
        ("goodput 100%", "100 % of goodput would allow everything"),
        ("9999999%", "9,999,999 % of all figures would allow everything"),
        ("200 points", "200 points of all figures would allow everything"),
        ("ttft p95 -10%", "write it without the sign"),
        ("ttft p95-10%", "write it without the sign"),
        ("-5%", "write it without the sign"),
        ("- 1 point", "write it without the sign"),
        ("ttft p95 -", "write"),
    ],
)
def test_an_allowance_of_the_wrong_kind_is_refused(text: str, message: str) -> None:
    with pytest.raises(ComparisonError, match=message):
        Allowances([text])


def test_relative_objectives_have_a_canonical_form() -> None:
    thresholds = {
        "ttft": ["p95 <= baseline + 10 %", "p99 < 1s", "mean<baseline+5%"],
        "goodput": [">= baseline - 5 %", ">= baseline"],
        "error_rate": ["<= baseline + 1 point"],
    }
    assert [str(rule) for rule in relative_rules_from(thresholds)] == [
        "ttft p95 <= baseline + 10 %",
        "ttft mean <= baseline + 5 %",
        "goodput >= baseline - 5 %",
        "goodput >= baseline - 0 %",
        "error_rate <= baseline + 1 point",
    ]
    assert [str(rule) for rule in rules_from(thresholds)] == ["ttft p99 < 1s"]
    again = {rule.key: [rule.condition] for rule in relative_rules_from(thresholds)}
    assert {str(rule) for rule in relative_rules_from(again)} <= set(
        map(str, relative_rules_from(thresholds))
    )


@pytest.mark.parametrize(
    ("key", "condition", "message"),
    [
        ("ttft", "p95 <= baseline * 1.1", "write 'p95 <= baseline"),
        ("ttft", "p95 >= baseline - 10 %", "asks for the worse side; write 'p95 <= baseline"),
        ("goodput", "<= baseline + 10 %", "write '>= baseline - 10 %'"),
        ("ttft", "<= baseline + 10 %", "which value of it"),
        ("error_rate", "<= baseline + 1 %", "is told in points"),
        ("tftt", "p95 <= baseline", "did you mean"),
    ],
)
def test_a_relative_objective_that_can_t_be_meant_is_refused(key: str, condition: str, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        relative_rules_from({key: [condition]})


def test_a_marker_says_how_much_worse() -> None:
    rules = relative_rules_of_keywords({"ttft_p95": "10%", "ttft_p99_9": "+20 %", "error_rate": "0.5 points"})
    assert [str(rule) for rule in rules] == [
        "ttft p95 <= baseline + 10 %",
        "ttft p99.9 <= baseline + 20 %",
        "error_rate <= baseline + 0.5 points",
    ]
    with pytest.raises(RuleError, match="write how much worse"):
        relative_rules_of_keywords({"ttft_p95": "500ms"})
