"""Judged objectives as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports.result import RuleResult, Verdict
from reports.units import against, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from harness.sla.judge import Judgement

HEADS: Final = ("objective", "measured", "at least", "at most", "n", "verdict")
_HEADLINES: Final = {
    Verdict.INVALID: "SLA run invalid: its numbers can't be trusted",
    Verdict.FAIL: "SLA missed",
    Verdict.INCONCLUSIVE: "SLA undecided: too few samples to say either",
}


def row(result: RuleResult) -> tuple[str, ...]:
    """One line of the table: objective, measured value, its bounds, number of samples, verdict."""
    measured, _ = against(result.observed, result.limit, result.unit)
    bounds = (quantity(bound, result.unit) for bound in (result.low, result.high))
    return (result.rule, measured, *bounds, str(result.n), result.verdict.value)


def grid(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines with columns that stand under one another, heads first."""
    lines = [HEADS, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def failure_text(judgement: Judgement, folder: Path) -> str | None:
    """What is wrong: one line for the worst, the table, a sentence each, where to look. None for nothing."""
    bad = [rule for rule in judgement.rules if rule.verdict is not Verdict.PASS]
    if not bad and not judgement.causes:
        return None
    worst = _worst(judgement, bad)
    named = ", ".join(rule.rule for rule in bad if rule.verdict is worst)
    return "\n".join(
        (
            f"{_HEADLINES[worst]}{f': {named}' if named else ''}",
            *grid(row(rule) for rule in judgement.rules),
            *(f"{rule.rule}: {rule.message}" for rule in bad),
            *judgement.causes,
            f"result: {folder}",
        )
    )


def _worst(judgement: Judgement, bad: list[RuleResult]) -> Verdict:
    found = {rule.verdict for rule in bad}
    if judgement.causes:
        found.add(Verdict.INVALID)
    return next(verdict for verdict in _HEADLINES if verdict in found)
