"""What stands on top of every output: the verdict in a word and in a sentence, and what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.result import Verdict
from reports.units import duration, quantity

if TYPE_CHECKING:
    from reports.result import Result


def status(result: Result) -> str:
    """The word on top of every output."""
    if result.interrupted is not None:
        return "INTERRUPTED"
    return result.verdict.value if result.verdict is not None else "NOT JUDGED"


def sentence(result: Result) -> str:
    """What the status word means for this run."""
    if result.interrupted is not None:
        judged = f" The objectives until then: {result.verdict.value}." if result.verdict else ""
        ended = f"Ended by {result.interrupted} after {duration(result.duration_s)}"
        return f"{ended}; the figures are partial.{judged}"
    if result.verdict is None:
        return "No objectives were stated, so nothing was judged."
    if result.verdict is Verdict.PASS:
        return f"{_count(len(result.rules), 'objective')} {_holds(result)}."
    if result.verdict is Verdict.INVALID and result.causes:
        return result.causes[0]
    return _unmet(result, result.verdict)


def window(result: Result) -> str:
    """``measured window 4.80 s to 60 s``."""
    start, end = result.window_s
    return f"measured window {duration(start)} to {duration(end)}"


def loop(result: Result) -> str:
    """What the reader must know about the basis of latencies."""
    if result.loop == "closed":
        return "closed loop: no intended times, response and service time are the same"
    return "open loop: response time counts from when a request was due, service time from when it was sent"


def _holds(result: Result) -> str:
    levels = {rule.confidence for rule in result.rules} if result.looks is None else {result.looks.confidence}
    verb = "holds" if len(result.rules) == 1 else "hold"
    return f"{verb} with {quantity(min(levels, default=0.95), 'share')} confidence{_over_looks(result)}"


def _over_looks(result: Result) -> str:
    looks = result.looks
    return "" if looks is None else f" over all looks; this was look {looks.look} of {looks.most}"


def _unmet(result: Result, verdict: Verdict) -> str:
    rules = [rule.rule for rule in result.rules if rule.verdict is verdict]
    word = {"FAIL": "missed", "INCONCLUSIVE": "undecided"}.get(verdict.value, "not judged")
    of = f"{len(rules)} of {_count(len(result.rules), 'objective')}"
    return f"{of} {word}: {'; '.join(rules)}." if rules else f"The run is {verdict.value.lower()}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
