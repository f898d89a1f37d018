"""Top-k, top-p and min-p: which tokens may be drawn at all.

All three keep the best n tokens of a row, where n depends on the sorted logits only. So a row is cut at its
n-th largest logit, and nothing but the head of the row is ever sorted, unless a row is too flat for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from reference_server.engine.request import SamplingParams

_HEAD = 256
"""Best tokens that are sorted at first; enough for nearly every row."""


def truncate(logits: Tensor, params: list[SamplingParams]) -> Tensor:
    """Set to minus infinity what a row's limits exclude.

    Args:
        logits: ``[R, vocab_size]``, already divided by the temperature.
        params: Limits of the R rows. Top-p counts the mass that top-k has left; min-p compares with the best.
    """
    limited = [
        row
        for row, p in enumerate(params)
        if 0 < p.top_k < logits.shape[-1] or p.top_p < 1.0 or p.min_p > 0.0
    ]
    if not limited:
        return logits
    logits = logits.clone()
    for row in limited:
        logits[row] = _keep_best(logits[row], *_num_kept(logits[row], params[row]))
    return logits


def _num_kept(row: Tensor, params: SamplingParams) -> tuple[int, Tensor]:
    """How many tokens stay, at least 1, and the value of the last of them."""
    size = row.shape[-1]
    best = row.topk(min(_HEAD, size)).values
    count = _count(best, row, params)
    if count > best.shape[-1]:
        best = row.topk(size).values
        count = _count(best, row, params)
    return count, best[count - 1]


def _count(best: Tensor, row: Tensor, params: SamplingParams) -> int:
    """Tokens to keep, judged by the ``best`` of a row, descending; more than those if they can't tell."""
    limit = min(params.top_k, row.shape[-1]) if params.top_k > 0 else row.shape[-1]
    best = best[:limit]
    reached = best.shape[-1] == limit
    count = limit
    for kept in _masks(best, best if reached else row, params):
        length = int(kept.sum())
        if reached or length < best.shape[-1]:
            count = min(count, length)
    return count


def _masks(best: Tensor, support: Tensor, params: SamplingParams) -> Iterator[Tensor]:
    """For top-p and min-p, if set: which of ``best`` stay. ``support`` is what top-k has left."""
    if params.top_p < 1.0:
        probabilities = (best - support.logsumexp(dim=-1)).exp()
        yield probabilities.cumsum(dim=-1) - probabilities < params.top_p
    if params.min_p > 0.0:
        yield (best - best[0]).exp() >= params.min_p


def _keep_best(row: Tensor, count: int, threshold: Tensor) -> Tensor:
    """Keep ``count`` tokens; of those equal to the last one, the lowest ids."""
    better, equal = row > threshold, row == threshold
    kept_equal = equal & (equal.cumsum(dim=-1) <= count - better.sum())
    return row.masked_fill(~(better | kept_equal), float("-inf"))
