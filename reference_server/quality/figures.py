"""Perplexity, divergence and agreement, from the logits of two models on the same tokens.

Logarithms are natural and sums in float64. The divergence is Kullback and Leibler's of the candidate from
the reference over the whole vocabulary: ``sum p (log p - log q)``, with ``p`` the reference's probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Quality:
    """What a text says of a candidate beside its reference.

    Attributes:
        num_tokens: Predicted tokens of the text.
        perplexity: Of the candidate: exp of the mean negative log-probability of the text's tokens.
        reference_perplexity: Of the reference.
        ratio_error: Standard error of the ratio's logarithm, positions taken as independent; None for one.
        kl_mean: Mean divergence over positions, in nats.
        kl_p99: Its 99th percentile over positions: the smallest value that 99 % don't exceed.
        top1_agreement: Share of positions where both find the same token likeliest.
    """

    num_tokens: int
    perplexity: float
    reference_perplexity: float
    ratio_error: float | None
    kl_mean: float
    kl_p99: float
    top1_agreement: float

    @property
    def perplexity_ratio(self) -> float:
        """The candidate's perplexity over the reference's; 1: none was lost."""
        return self.perplexity / self.reference_perplexity


@dataclass
class Tally:
    """Gathers positions until the text is through."""

    _losses: list[Tensor] = field(default_factory=list)
    _reference_losses: list[Tensor] = field(default_factory=list)
    _divergences: list[Tensor] = field(default_factory=list)
    _agreements: list[Tensor] = field(default_factory=list)

    def add(self, reference: Tensor, candidate: Tensor, targets: Tensor) -> None:
        """Count positions: logits ``[T, vocab_size]`` of both, and the tokens ``[T]`` that follow."""
        reference, candidate = (logits.double().log_softmax(dim=-1) for logits in (reference, candidate))
        self._losses.append(-_of(candidate, targets))
        self._reference_losses.append(-_of(reference, targets))
        self._divergences.append(divergences(reference, candidate))
        self._agreements.append(reference.argmax(dim=-1) == candidate.argmax(dim=-1))

    def quality(self) -> Quality:
        """Of at least one position."""
        divergence = torch.cat(self._divergences)
        gaps = torch.cat(self._losses) - torch.cat(self._reference_losses)
        return Quality(
            num_tokens=divergence.numel(),
            perplexity=_perplexity(self._losses),
            reference_perplexity=_perplexity(self._reference_losses),
            ratio_error=float(gaps.std() / gaps.numel() ** 0.5) if gaps.numel() > 1 else None,
            kl_mean=float(divergence.mean()),
            kl_p99=float(np.percentile(divergence.numpy(), 99, method="inverted_cdf")),
            top1_agreement=float(torch.cat(self._agreements).double().mean()),
        )


def divergences(reference: Tensor, candidate: Tensor) -> Tensor:
    """Of each row of log-probabilities ``[T, vocab_size]``, in nats, ``[T]``.

    A token that the reference rules out adds nothing. What rounding leaves below 0 is 0.
    """
    terms = torch.where(reference == -math.inf, 0.0, reference.exp() * (reference - candidate))
    return terms.sum(dim=-1).clamp(min=0.0)


def first_divergence(reference: list[int], candidate: list[int]) -> int | None:
    """The first place, from 0 on, where two texts of one length differ; None: nowhere."""
    pairs = enumerate(zip(reference, candidate, strict=True))
    return next((place for place, (one, other) in pairs if one != other), None)


def _of(log_probabilities: Tensor, targets: Tensor) -> Tensor:
    return log_probabilities.gather(1, targets[:, None]).squeeze(1)


def _perplexity(losses: list[Tensor]) -> float:
    return math.exp(float(torch.cat(losses).mean()))
