"""Rotary position embedding: tables, and the scaling of long contexts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from reference_server.models.config import ModelConfig


def inverse_frequencies(head_dim: int, theta: float) -> Tensor:
    """Rotary frequencies in radians per position, ``[head_dim / 2]``, float64."""
    return theta ** -(torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)


def llama3_factors(
    head_dim: int, theta: float, *, factor: float, low_freq: float, high_freq: float, original_len: int
) -> tuple[float, ...]:
    """Divisors of the frequencies by Llama 3's rule.

    Wavelengths longer than ``original_len / low_freq`` positions are stretched by ``factor``, those shorter
    than ``original_len / high_freq`` are left alone, and the divisor's inverse is interpolated between.
    """
    turns = original_len * inverse_frequencies(head_dim, theta) / (2 * math.pi)
    kept = ((turns - low_freq) / (high_freq - low_freq)).clamp(0, 1)
    return tuple((1 / (kept + (1 - kept) / factor)).tolist())


def rope_table(config: ModelConfig, max_len: int) -> Tensor:
    """Cosines and signed sines of every position, ``[max_len, 2, 1, head_dim]``, float32."""
    frequencies = inverse_frequencies(config.head_dim, config.rope_theta)
    if config.rope_factors is not None:
        frequencies = frequencies / torch.tensor(config.rope_factors, dtype=torch.float64)
    angles = torch.arange(max_len, dtype=torch.float64)[:, None] * frequencies
    cos, sin = angles.cos(), angles.sin()
    table = torch.stack([torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)], dim=1)
    return table[:, :, None, :].float()
