"""An experiment in words and lines: what console and HTML show alike."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from reports.units import quantity, significant

if TYPE_CHECKING:
    from reports.lab.table import Claimed, Effect, Lab, Measured
    from reports.result import Verdict

COLUMNS = ("there", "here", "change", "interval", "predicted")
RUN_COLUMNS = ("TTFT p50", "TPOT p95", "e2e p50", "answered/s", "goodput/s", "tokens/s", "errors")


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of a table: words, then numbers, and what is said of it."""

    words: tuple[str, ...]
    cells: tuple[str, ...]
    reason: str = ""
    folder: str = ""


@dataclasses.dataclass(frozen=True)
class ClaimLine:
    """A claim, written."""

    sentence: str
    verdict: Verdict


def point_words(values: dict[str, Any]) -> str:
    """``max_tokens 64``; empty for the only point."""
    return ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in values.items())


def word(lab: Lab) -> str:
    """The worst verdict, INTERRUPTED or NOT JUDGED."""
    if lab.interrupted is not None:
        return "INTERRUPTED"
    return "NOT JUDGED" if lab.verdict is None else lab.verdict.value


def sentence(lab: Lab) -> str:
    """What became of the claims."""
    if lab.interrupted is not None:
        return f"Broken off by {lab.interrupted} after {len(lab.runs)} runs; nothing is concluded."
    if not lab.claims:
        return f"{len(lab.runs)} runs; nothing was claimed."
    shown = sum(claim.verdict.value == "PASS" for claim in lab.claims)
    return f"{shown} of {len(lab.claims)} claims are shown, by {len(lab.runs)} runs."


def effect_lines(lab: Lab) -> list[Line]:
    """All figures, at all points."""
    return [_effect(effect) for effect in lab.effects]


def _effect(effect: Effect) -> Line:
    interval = "" if effect.low is None or effect.high is None else f"{_times(effect.low, effect)} to "
    cells = (
        quantity(effect.a, effect.unit, 3),
        quantity(effect.b, effect.unit, 3),
        _times(effect.change, effect),
        interval + (_times(effect.high, effect) if interval else ""),
        _times(effect.predicted, effect),
    )
    there = effect.against if effect.since is None else f"{effect.against}, {point_words(effect.since)}"
    return Line((point_words(effect.values), effect.variant, effect.figure, there), cells, effect.message)


def _times(change: float | None, effect: Effect) -> str:
    if change is None:
        return "-"
    return f"{significant(change, 3)}x" if effect.kind == "ratio" else f"{change * 100:+.1f} points"


def claim_lines(lab: Lab) -> list[ClaimLine]:
    """All claims, with what was measured."""
    return [ClaimLine(_claim(lab, claim), claim.verdict) for claim in lab.claims]


def _claim(lab: Lab, claim: Claimed) -> str:
    effect = next(e for e in lab.effects if _key(e) == _key(claim))
    side, bound = ("at least", claim.at_least) if claim.at_least is not None else ("at most", claim.at_most)
    line = _effect(effect)
    place = f" at {where}" if (where := point_words(claim.values)) else ""
    said = f"{claim.figure} of {claim.variant}{place}: {side} {_times(bound, effect)} that of {line.words[3]}"
    return f"{said}; measured: {line.cells[2]} ({line.cells[3] or 'no interval'})"


def _key(what: Effect | Claimed) -> tuple[str, str, dict[str, Any], dict[str, Any] | None]:
    return what.figure, what.variant, what.values, what.since


def run_lines(lab: Lab) -> list[Line]:
    """Every run."""
    return [_run(run) for run in lab.runs]


def _run(run: Measured) -> Line:
    ttft, e2e = run.latency("ttft"), run.latency("e2e")
    cells = (
        quantity(None if ttft is None else ttft.p50, "ns", 3),
        quantity(run.p95("tpot"), "ns", 3),
        quantity(None if e2e is None else e2e.p50, "ns", 3),
        quantity(run.achieved, "", 3),
        quantity(run.goodput, "", 3),
        quantity(run.output_token_rate, "", 3),
        quantity(run.error_rate, "share", 3),
    )
    return Line((point_words(run.values), run.variant), cells, "; ".join(run.causes), run.folder)
