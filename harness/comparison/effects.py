"""The effect of every figure: by runs where there are several, else by blocks of requests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from harness.comparison.effect import Effect, RatioEffect, ShareEffect, Spread
from harness.comparison.pairing import paired
from harness.comparison.run_spread import run_spread
from harness.comparison.side import share_counts
from harness.comparison.within_run import MIN_BEYOND, WithinRun, design_effect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.comparison.figure import Figure
    from harness.comparison.side import Side

_ROUNDING = 1e-3 / math.sqrt(12)
"""Deviation of a value's logarithm within a bucket of three digits."""


class Found(NamedTuple):
    """What can be said of a figure.

    Attributes:
        figure: Which.
        a: Its value in A, None without a sample.
        b: Its value in B.
        effect: The change; None where it can't be told.
        reason: Why not.
    """

    figure: Figure
    a: float | None
    b: float | None
    effect: Effect | None = None
    reason: str = ""


def effects(
    a: Side, b: Side, figures: Iterable[Figure], *, pairs: bool, seed: int, times: int
) -> Iterator[Found]:
    """The effect of each figure.

    Args:
        a: The one before.
        b: The one after.
        figures: Which.
        pairs: Whether both sent the same requests, so that what comes from these cancels.
        seed: Of the resampling.
        times: How often to resample.
    """
    wanted = tuple(figures)
    within = _within_runs(a, b, wanted, pairs=pairs, seed=seed, times=times)
    for figure in wanted:
        yield _found(figure, a, b, within)


class _Within(NamedTuple):
    """Of single runs: that of A and that of B, or both as one where they are paired."""

    a: WithinRun | None
    b: WithinRun | None
    together: WithinRun | None


def _within_runs(
    a: Side, b: Side, figures: tuple[Figure, ...], *, pairs: bool, seed: int, times: int
) -> _Within:
    single = [side.samples[0] if len(side.runs) == 1 else None for side in (a, b)]
    one, other = single
    if pairs and one is not None and other is not None:
        return _Within(None, None, WithinRun(paired(one, other), figures, seed, times))
    made = [
        None if sample is None else WithinRun((sample,), figures, seed + place, times)
        for place, sample in enumerate(single)
    ]
    return _Within(made[0], made[1], None)


def _found(figure: Figure, a: Side, b: Side, within: _Within) -> Found:
    values = a.value(figure), b.value(figure)
    for side, value in zip((a, b), values, strict=True):
        if value is None:
            return Found(figure, *values, reason=f"{side.label}: {side.reason(figure)}")
    before, after = values
    assert before is not None
    assert after is not None
    if figure.is_share:
        return Found(figure, before, after, _of_shares(figure, a, b))
    if before <= 0 or after <= 0:
        return Found(figure, before, after, reason="a value of 0 has no ratio")
    spread, reason = _spread(figure, a, b, within)
    if spread is None:
        return Found(figure, before, after, reason=reason)
    spread = Spread(spread.variance + _grain(figure, a, b), spread.df)
    return Found(figure, before, after, RatioEffect(math.log(after / before), spread))


def _spread(figure: Figure, a: Side, b: Side, within: _Within) -> tuple[Spread | None, str]:
    """Of the logarithm of the ratio; None with the reason where it isn't known."""
    few = _too_few(figure, a, b)
    if few:
        return None, few
    if within.together is not None:
        return within.together.spread(figure)
    spread_a, reason_a = _of_side(figure, a, b, within.a)
    spread_b, reason_b = _of_side(figure, b, a, within.b)
    if spread_a is None or spread_b is None:
        return None, reason_a or reason_b
    if len(a.runs) == 1 < len(b.runs) or len(b.runs) == 1 < len(a.runs):  # both come from the same runs
        return Spread(spread_a.variance + spread_b.variance, min(spread_a.df, spread_b.df)), ""
    return spread_a.plus(spread_b), ""


def _grain(figure: Figure, a: Side, b: Side) -> float:
    """Variance by rounding: that of a bucket, or of the one request that an edge of the window cuts."""
    if figure.statistic is not None:
        return 0.0 if figure.statistic.p is None else 2 * _ROUNDING**2
    return sum(1 / max(1, side.num_samples(figure)) ** 2 for side in (a, b))


def _of_side(figure: Figure, side: Side, other: Side, within: WithinRun | None) -> tuple[Spread | None, str]:
    if within is None:
        return run_spread(figure, side)
    spread, reason = within.spread(figure)
    if len(other.runs) == 1:
        return spread, reason
    between, lacking = run_spread(figure, other)
    if between is None:
        return None, lacking
    by_run = Spread(between.variance * len(other.runs), between.df)  # a single run differs as theirs do
    return max((by_run, spread or by_run), key=lambda each: each.variance), ""


def _too_few(figure: Figure, a: Side, b: Side) -> str:
    """A percentile with a handful of samples beyond it has no interval worth the name."""
    share = figure.share_beyond
    if share is None:
        return ""
    fewest = min((a, b), key=lambda side: side.num_samples(figure))
    beyond, needed = fewest.num_samples(figure) * share, math.ceil(MIN_BEYOND / share - 1e-9)
    if beyond >= MIN_BEYOND:
        return ""
    return (
        f"{fewest.num_samples(figure)} samples in {fewest.label} are too few: {needed} would leave "
        f"{MIN_BEYOND} beyond {figure.statistic}"
    )


def _of_shares(figure: Figure, a: Side, b: Side) -> ShareEffect:
    counts = []
    for side in (a, b):
        count, n = share_counts(figure.metric, side.samples)
        effective = n / design_effect(figure.metric, side.samples)
        counts.append((count * effective / n, effective))
    return ShareEffect(counts[0], counts[1])
