"""Top-k, top-p and min-p: which tokens may be drawn at all.

All three keep the best n tokens of a row, where n depends on the sorted logits only. So nothing but the head
of a row is ever sorted, unless the row is too flat for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from reference_server.engine.request import SamplingParams

_HEAD = 256
"""Best tokens that are sorted at first; enough for nearly every row."""


def survivors(row: Tensor, params: SamplingParams) -> Tensor | None:
    """Ids of the tokens that may be drawn, ascending; None if all may.

    Args:
        row: Logits ``[vocab_size]``, already divided by the temperature.
        params: The limits. Top-p counts the mass that top-k has left; min-p compares with the best. Of tokens
            that are equal where the row is cut, the lowest ids stay.
    """
    size = row.shape[-1]
    if not (0 < params.top_k < size or params.top_p < 1.0 or params.min_p > 0.0):
        return None
    best = row.topk(min(_HEAD, size))
    count = _count(best.values, row, params)
    if count > len(best.values):
        best = row.topk(size)
        count = _count(best.values, row, params)
    last, following = best.values[count - 1], best.values[count : count + 1]
    if len(following) and following[0] < last:
        return best.indices[:count].sort().values
    return _best_by_id(row, last, count)


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


def _best_by_id(row: Tensor, last: Tensor, count: int) -> Tensor:
    """The ``count`` best, of which ``last`` is the worst; among its equals the lowest ids."""
    better, equal = torch.nonzero(row > last)[:, 0], torch.nonzero(row == last)[:, 0]
    return torch.cat([better, equal[: count - len(better)]]).sort().values
