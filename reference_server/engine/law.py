"""Laws: for each token id the probability with which it is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

    from torch import Tensor


def draw(laws: Tensor, numbers: SequenceOf[float]) -> list[int]:
    """A token of each law, by the inverse of its cumulative distribution in token-id order.

    Args:
        laws: float64 ``[R, vocab_size]``; they need not add up to 1.
        numbers: R of them, uniform in [0, 1).
    """
    cumulative = laws.cumsum(dim=-1)
    total = cumulative[:, -1]
    wanted = torch.tensor(numbers, dtype=torch.float64, device=laws.device) * total
    wanted = torch.minimum(wanted, torch.nextafter(total, torch.zeros_like(total)))
    found: list[int] = torch.searchsorted(cumulative, wanted[:, None], right=True)[:, 0].tolist()
    return found


def certain(token_ids: Tensor, vocab_size: int) -> Tensor:
    """The laws of tokens ``[R]`` that are sure: float64 ``[R, vocab_size]``."""
    return torch.nn.functional.one_hot(token_ids.long(), vocab_size).double()
