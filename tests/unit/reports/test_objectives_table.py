"""The objectives on terminals of many widths: nothing of them is cut."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import msgspec
import pytest
from rich.console import Console

from reports.formats import console
from reports.objectives_table import objectives_table
from reports.result import RuleResult, Verdict
from reports.units import MISSING
from reports.view import rule_line

if TYPE_CHECKING:
    from reports.result import Result

INCONCLUSIVE, PASS = Verdict.INCONCLUSIVE, Verdict.PASS


def _rule(text: str, unit: str, observed: float, limit: float, verdict: Verdict, **rest: float) -> RuleResult:
    return RuleResult(
        rule=text,
        metric=text.split()[0],
        observed=observed,
        limit=limit,
        unit=unit,
        verdict=verdict,
        confidence=0.95,
        message="so it is",
        **({"n": 60} | rest),  # type: ignore[arg-type]  # fields of several types
    )


TOKENS = _rule(
    "token_deadline_attainment mean >= 90 %", "share", 0.99123, 0.9, PASS, low=0.98, high=0.9991, n_eff=31.0
)
GOODPUT = _rule("goodput > 1 requests/s", "requests/s", 4.123456, 1.0, PASS)
TTFT = _rule("ttft mean < 1s", "ns", 52.1e6, 1e9, PASS, low=51.3e6, high=53.4e6, n=60_000, n_eff=12_345.0)
RATE = _rule("output_token_rate > 10 tokens/s", "tokens/s", 64.1234, 10.0, INCONCLUSIVE)
CLASS = _rule("output_rate_per_user p0.1 >= 12.5 tokens/s", "tokens/s", 64.1, 12.5, PASS, low=60.1, high=70.0)
ABSENT = msgspec.structs.replace(TTFT, observed=None, low=None, high=None, n=0, n_eff=None)


def _printed(rules: tuple[RuleResult, ...], width: int) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width).print(objectives_table(rules, width))
    return file.getvalue().splitlines()


def _squeezed(lines: list[str]) -> str:
    """What is left of the rules' column when the rest, and the breaks of lines, are gone."""
    return "".join("".join(lines).split())


@pytest.mark.parametrize("width", [40, 60, 72, 80, 100, 110, 120, 160, 250])
@pytest.mark.parametrize(
    "rules",
    [(TOKENS, GOODPUT, TTFT, RATE), (GOODPUT, TTFT), (CLASS, TOKENS), (TTFT,), (ABSENT, RATE)],
    ids=["four", "two", "long", "short", "absent"],
)
def test_rule_verdict_and_numbers_are_there_at_any_width(rules: tuple[RuleResult, ...], width: int) -> None:
    lines = _printed(rules, width)
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    for rule in rules:
        text = _squeezed(_printed((rule,), width))
        line = rule_line(rule)
        wanted = [rule.verdict.value, line.observed, line.n, line.interval]
        assert [part for part in wanted if part != MISSING and _squeezed([part]) not in text] == []
        assert [word for word in rule.rule.split() if word not in text] == []
    rows = [row for row in lines if row.startswith((" PASS ", " INCONCLUSIVE "))]
    assert [row.split()[1] for row in rows] == [rule.rule.split()[0] for rule in rules] or width == 40


@pytest.mark.parametrize("width", [80, 110, 160])
def test_a_rule_of_many_words_is_folded_between_them(width: int) -> None:
    lines = _printed((TOKENS, GOODPUT, TTFT, RATE), width)
    assert any("token_deadline_attainment mean" in line for line in lines)
    for rule in (GOODPUT, TTFT, RATE):
        assert any(rule.rule in line for line in lines)


def test_a_wide_terminal_has_a_line_for_each() -> None:
    lines = _printed((GOODPUT, TTFT), 160)
    assert lines[1].split() == ["verdict", "rule", "observed", "limit", "margin", "n", "interval"]
    assert len(lines) == 5


def test_the_summary_on_disk_holds_the_rules(result: Result) -> None:
    stated = msgspec.structs.replace(result, rules=(TOKENS, GOODPUT, TTFT, RATE))
    table = console.render(stated).partition("Metrics")[0]
    assert [rule.rule for rule in (GOODPUT, TTFT, RATE) if rule.rule not in table] == []
    assert max(map(len, table.splitlines())) <= 110
