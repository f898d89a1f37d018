"""The verdict of each figure.

A regression is a change whose interval lies beyond what is allowed, still so when corrected for the number of
figures (Holm); likewise an improvement, beyond no change at all. "No difference shown" wants the interval to
end before the allowance does: then nothing worse is hidden, with that confidence. All else is undecided.

Before any of these: where no more than the harness's own error separates a value from what is allowed, the
figure is invalid, whichever side it is on. A change from A that is no larger is no improvement either.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from harness.comparison.holm import holm
from reports.comparison.document import Change, Figure
from reports.units import quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.comparison.allowance import Allowances
    from harness.comparison.effect import Effect
    from harness.comparison.effects import Found
    from harness.comparison.side import Side

_MOST: Final = 1e6


class _Test(NamedTuple):
    found: Found
    effect: Effect
    limit: float
    worse: float
    """The chance that speaks for a regression."""
    better: float
    """That for an improvement."""


def judge(
    found: Sequence[Found], a: Side, b: Side, allowances: Allowances, confidence: float
) -> tuple[Figure, ...]:
    """The verdict of every figure, in their order."""
    tests = [
        _test(each, each.effect, limit_of(each, allowances)) for each in found if each.effect is not None
    ]
    corrected = zip(
        tests, holm([test.worse for test in tests]), holm([test.better for test in tests]), strict=True
    )
    judged = {
        test.found.figure: _judged(test, worse, better, confidence, a, b) for test, worse, better in corrected
    }
    return tuple(
        judged[each.figure] if each.effect is not None else _unknown(each, a, b, allowances) for each in found
    )


def limit_of(found: Found, allowances: Allowances) -> float:
    """The change at which a regression begins: 1.05, 0.95, 0.01."""
    figure, allowed = found.figure, allowances.of(found.figure)
    neutral = 0.0 if figure.is_share else 1.0
    return neutral + allowed if figure.larger_is_worse else neutral - allowed


def _test(found: Found, effect: Effect, limit: float) -> _Test:
    if found.figure.larger_is_worse:
        chances = effect.chance_if_at_most(limit), effect.chance_if_at_least(effect.neutral)
    else:
        chances = effect.chance_if_at_least(limit), effect.chance_if_at_most(effect.neutral)
    return _Test(found, effect, limit, *chances)


def _judged(test: _Test, worse: float, better: float, confidence: float, a: Side, b: Side) -> Figure:
    low, high = test.effect.bounds(confidence)
    verdict, message = _verdict(test, worse, better, confidence)
    if blurred := _blurred(test, test.limit, "what is allowed", a, b):
        verdict, message = Change.INVALID, blurred
    elif verdict is Change.IMPROVED and (blurred := _blurred(test, test.effect.neutral, "A's", a, b)):
        verdict, message = Change.NO_DIFFERENCE, blurred
    times = None
    if verdict is Change.UNDECIDED:
        times = test.effect.times_as_many(test.limit, confidence)
        message = message or _more(times, a, b)
    return _figure(
        test.found,
        a,
        b,
        test.limit,
        change=test.effect.change,
        low=low,
        high=high,
        chance=worse,
        verdict=verdict,
        times_as_many=times,
        message=message,
    )


def _verdict(test: _Test, worse: float, better: float, confidence: float) -> tuple[Change, str]:
    low, high = test.effect.bounds(confidence)
    bad_end, good_end = (high, low) if test.found.figure.larger_is_worse else (-low, -high)
    limit = test.limit if test.found.figure.larger_is_worse else -test.limit
    if worse <= 1 - confidence:
        return Change.REGRESSION, ""
    if better <= 1 - confidence:
        return Change.IMPROVED, ""
    if bad_end <= limit:
        return Change.NO_DIFFERENCE, ""
    if good_end > limit:
        return Change.UNDECIDED, (
            "beyond what is allowed by itself, but among so many figures chance alone may show that; "
            "compare this one alone, or measure more"
        )
    return Change.UNDECIDED, ""


def _blurred(test: _Test, change: float, name: str, a: Side, b: Side) -> str:
    """That the harness's own error is as large as what separates B's value from one; empty if not.

    Args:
        test: The figure.
        change: From A to the value in question.
        name: What that value is.
        a: The one before.
        b: The one after.
    """
    figure, before, after = test.found.figure, test.found.a, test.found.b
    if figure.statistic is None:
        return ""
    assert before is not None
    assert after is not None
    error = max(a.client_error(figure), b.client_error(figure))
    margin = abs(after - change * before)
    if not error or margin > error:
        return ""
    return (
        f"{quantity(margin, figure.unit)} separate it from {name}, and the harness's own error is "
        f"{quantity(error, figure.unit)}; lower the load, or give the harness a core of its own"
    )


def _more(times: float | None, a: Side, b: Side) -> str:
    if times is None or times > _MOST:
        return "no number of requests would decide: the change lies at the edge of what is allowed"
    times = max(times, 1.01)
    if len(a.runs) == 1 and len(b.runs) == 1:
        have = max(side.samples[0].num_requests for side in (a, b))
        return (
            f"{math.ceil(have * (times - 1)):,} more requests on each side would decide, if it stays as it is"
        )
    have = max(len(side.runs) for side in (a, b))
    more = math.ceil(have * (times - 1))
    return f"{more:,} more {'run' if more == 1 else 'runs'} on each side would decide, if it stays as it is"


def _unknown(found: Found, a: Side, b: Side, allowances: Allowances) -> Figure:
    """Without a value it is not compared; with values and no spread it is undecided."""
    has_values = found.a is not None and found.b is not None
    return _figure(
        found,
        a,
        b,
        limit_of(found, allowances),
        verdict=Change.UNDECIDED if has_values and (found.a or found.b) else Change.NOT_COMPARED,
        message=found.reason,
    )


def _figure(found: Found, a: Side, b: Side, limit: float, **rest: object) -> Figure:
    figure = found.figure
    fields = {
        "name": str(figure),
        "unit": figure.unit,
        "kind": "difference" if figure.is_share else "ratio",
        "larger_is_worse": figure.larger_is_worse,
        "a": found.a,
        "b": found.b,
        "n_a": a.num_samples(figure),
        "n_b": b.num_samples(figure),
        "allowed": limit,
    }
    return Figure(**fields, **rest)  # type: ignore[arg-type]  # the fields of Figure, by name
