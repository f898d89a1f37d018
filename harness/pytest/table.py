"""Judged objectives as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from reports.result import RuleResult, Verdict
from reports.result.verdict import worst
from reports.units import MISSING, against, margin, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from harness.sla.judge import Judgement

HEADS: Final = ("objective", "measured", "margin", "interval", "client error", "n", "verdict")
_HEADLINES: Final = {
    Verdict.INVALID: "SLA run invalid: its numbers can't be trusted",
    Verdict.FAIL: "SLA missed",
    Verdict.INCONCLUSIVE: "SLA undecided: too few samples to say either",
    Verdict.PASS: "SLA met",
}


class Judged(NamedTuple):
    """An objective with its verdict.

    Attributes:
        result: What was judged.
        client_error: The harness's own error in the objective's unit, None where it has none.
    """

    result: RuleResult
    client_error: float | None = None

    @property
    def margin(self) -> str:
        """How far the measured value lies on the good side of the limit."""
        result = self.result
        return margin(result.observed, result.limit, result.unit, upper="<" in result.rule)

    @property
    def interval(self) -> str:
        """Between which bounds the true value lies."""
        low, high = (quantity(bound, self.result.unit) for bound in (self.result.low, self.result.high))
        if MISSING not in (low, high):
            return f"{low} to {high}"
        return MISSING if low == high else f"at most {high}" if low == MISSING else f"at least {low}"

    @property
    def error(self) -> str:
        """The harness's own error, in words."""
        return quantity(self.client_error, self.result.unit, 2)


class Complaint(NamedTuple):
    """Why a test doesn't simply pass.

    Attributes:
        verdict: FAIL, INCONCLUSIVE or INVALID: the worst.
        text: One line for it, the table, a sentence for each objective that isn't met, where to look.
    """

    verdict: Verdict
    text: str


def row(judged: Judged) -> tuple[str, ...]:
    """One line of the table."""
    result = judged.result
    measured, _ = against(result.observed, result.limit, result.unit)
    count, verdict = f"{result.n:,}", result.verdict.value
    return (result.rule, measured, judged.margin, judged.interval, judged.error, count, verdict)


def grid(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines with columns that stand under one another, heads first."""
    lines = [HEADS, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def complaint_of(judgement: Judgement, judged: Sequence[Judged], places: Sequence[str]) -> Complaint | None:
    """What is wrong with a run; None for nothing.

    Args:
        judgement: Its verdict, objectives and causes.
        judged: The same objectives, each with the harness's error.
        places: Lines that say where to look.
    """
    bad = [each.result for each in judged if each.result.verdict is not Verdict.PASS]
    verdict = _worst(judgement)
    if verdict is Verdict.PASS:
        return None
    named = ", ".join(rule.rule for rule in bad if rule.verdict is verdict)
    lines = (
        f"{_headline(verdict, bad)}{f': {named}' if named else ''}",
        *grid(map(row, judged)),
        *(f"{rule.rule}: {rule.message}" for rule in bad),
        *judgement.causes,
        *places,
    )
    return Complaint(verdict, "\n".join(lines))


def _headline(verdict: Verdict, bad: Sequence[RuleResult]) -> str:
    if verdict is Verdict.INCONCLUSIVE and not bad:
        return "SLA undecided: the load was not sent in full, so what holds of a part passes nothing"
    return _HEADLINES[verdict]


def _worst(judgement: Judgement) -> Verdict:
    whole = Verdict.INVALID if judgement.causes else judgement.verdict or Verdict.PASS
    return worst((whole, *(rule.verdict for rule in judgement.rules))) or Verdict.PASS


def places(folder: Path) -> tuple[str, ...]:
    """Lines that say where a run's result and its page are."""
    page = page_of(folder)
    return (f"result: {near(folder)}", *(() if page is None else (f"report: {near(page)}",)))


def page_of(folder: Path) -> Path | None:
    """The page that a run left; None where it left none."""
    page = folder / "report.html"
    return page if page.is_file() else None


def near(path: Path) -> Path:
    """As a reader in the working directory would write it."""
    here = path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
