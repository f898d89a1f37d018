"""Perplexity, divergence and agreement, from what two servers tell of the same tokens.

The meanings are those of ``tokenpace quality`` in process, as far as a few likely tokens allow. Logarithms
are natural. Perplexity is exact where every token of the text has its log-probability. The divergence,
Kullback and Leibler's of the candidate from the reference, is known from below alone: of all that isn't
listed by both no more is known than its mass, and divergence only shrinks when outcomes are put together.
From above nothing bounds it, since a token that isn't listed may be as good as ruled out.
"""

from __future__ import annotations

import math
import statistics
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

import msgspec

from harness.quality.errors import QualityError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.quality.scores import Position, Scores

_LEAST_MASS: Final = 1e-6
"""What rounding leaves of 1 is no mass."""


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """What a text says of a candidate, beside its reference if there is one.

    Attributes:
        num_tokens: Predicted tokens of the text.
        num_unlisted: Of them, those whose log-probability one of the two doesn't tell; the perplexities are
            lower bounds then.
        perplexity: Of the candidate.
        reference_perplexity: Of the reference.
        perplexity_ratio: The candidate's over the reference's; None if they are bounds.
        ratio_error: Standard error of the ratio's logarithm, positions taken as independent.
        kl_mean: Mean divergence over positions, in nats: a lower bound.
        kl_p99: Its 99th percentile over positions: likewise.
        kl_mass: Mean share of the reference's probability that is on tokens which both list.
        top1_agreement: Share of positions where both find the same token likeliest.
        first_divergences: For each window, greedy tokens that agree before the first that differs; None: all.
        num_greedy: Greedy tokens after each window's beginning.
    """

    num_tokens: int
    num_unlisted: int
    perplexity: float
    reference_perplexity: float | None = None
    perplexity_ratio: float | None = None
    ratio_error: float | None = None
    kl_mean: float | None = None
    kl_p99: float | None = None
    kl_mass: float | None = None
    top1_agreement: float | None = None
    first_divergences: list[int | None] = []
    num_greedy: int = 0


def quality_of(candidate: Scores) -> Quality:
    """Of one server by itself."""
    positions = candidate.positions
    return Quality(
        num_tokens=len(positions),
        num_unlisted=sum(position.logprob is None for position in positions),
        perplexity=_perplexity(positions),
    )


def quality_beside(reference: Scores, candidate: Scores) -> Quality:
    """Of a candidate beside its reference.

    Raises:
        QualityError: They weren't shown the same tokens, or name them in other ways.
    """
    _demand_same_tokens(reference, candidate)
    pairs = list(zip(reference.positions, candidate.positions, strict=True))
    gaps = [q.logprob - p.logprob for p, q in pairs if p.logprob is not None and q.logprob is not None]
    divergences = [divergence(p, q) for p, q in pairs]
    bounds = sorted(bound for bound, _ in divergences)
    is_whole = len(gaps) == len(pairs)
    perplexities = _perplexity(candidate.positions), _perplexity(reference.positions)
    return Quality(
        num_tokens=len(pairs),
        num_unlisted=len(pairs) - len(gaps),
        perplexity=perplexities[0],
        reference_perplexity=perplexities[1],
        perplexity_ratio=perplexities[0] / perplexities[1] if is_whole else None,
        ratio_error=statistics.stdev(gaps) / len(gaps) ** 0.5 if is_whole and len(gaps) > 1 else None,
        kl_mean=statistics.fmean(bounds),
        kl_p99=bounds[math.ceil(0.99 * len(bounds)) - 1],
        kl_mass=statistics.fmean(mass for _, mass in divergences),
        top1_agreement=statistics.fmean(p.top[0][0] == q.top[0][0] for p, q in pairs),
        first_divergences=list(map(first_divergence, reference.greedy, candidate.greedy)),
        num_greedy=max(map(len, candidate.greedy), default=0),
    )


def divergence(reference: Position, candidate: Position) -> tuple[float, float]:
    """The least divergence that goes with two lists, in nats, and the reference's mass on what both list."""
    p, q = dict(reference.top), dict(candidate.top)
    both = p.keys() & q.keys()
    p_mass, q_mass = (math.fsum(math.exp(law[token]) for token in both) for law in (p, q))
    listed = math.fsum(math.exp(p[token]) * (p[token] - q[token]) for token in both)
    rest = max(0.0, 1.0 - p_mass)
    unlisted = rest * math.log(rest / max(_LEAST_MASS, 1.0 - q_mass)) if rest else 0.0
    return max(0.0, listed + unlisted), min(1.0, p_mass)


def first_divergence(reference: Sequence[str], candidate: Sequence[str]) -> int | None:
    """The first place, from 0 on, where two texts differ, one ending included; None: nowhere."""
    pairs = enumerate(zip_longest(reference, candidate))
    return next((place for place, (one, other) in pairs if one != other), None)


def _perplexity(positions: Sequence[Position]) -> float:
    """exp of the mean loss; a token that isn't listed counts as just below those that are."""
    return math.exp(statistics.fmean(-_most_likely(position) for position in positions))


def _most_likely(position: Position) -> float:
    if position.logprob is not None:
        return position.logprob
    rest = 1.0 - math.fsum(math.exp(logprob) for _, logprob in position.top)
    return min(position.top[-1][1], math.log(max(_LEAST_MASS, rest)))


def _demand_same_tokens(reference: Scores, candidate: Scores) -> None:
    if reference.by_id != candidate.by_id:
        raise QualityError(
            "one of the two names tokens by id and the other by text, so they can't be held side by side; "
            "compare servers of one kind"
        )
    texts = [
        [[each.token for each in window] for window in scores.windows] for scores in (reference, candidate)
    ]
    if texts[0] != texts[1]:
        raise QualityError(
            "the two weren't shown the same tokens: another text, another --window, or another tokenizer; "
            "compare two forms of one model"
        )
    if not all(position.top for scores in (reference, candidate) for position in scores.positions):
        raise QualityError("a position lists no token, so the two can't be compared; ask for more with --top")
