"""A candidate beside a reference, through one text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from reference_server.quality.errors import QualityError
from reference_server.quality.figures import Quality, Tally, first_divergence
from reference_server.quality.forced_model import STEP_ROWS

if TYPE_CHECKING:
    from reference_server.quality.forced_model import ForcedModel

PROMPT_TOKENS = 32
"""The beginning of a window that greedy text continues."""


@dataclass(frozen=True)
class Divergence:
    """Where greedy text of the two parts.

    Attributes:
        num_tokens: Written after each beginning.
        first: For each window's beginning, the tokens that agree before the first that differs; None: all.
    """

    num_tokens: int
    first: list[int | None]


def measure(reference: ForcedModel, candidate: ForcedModel, texts: list[list[int]]) -> Quality:
    """Show both the same texts, each by itself, and compare what they expect.

    Raises:
        QualityError: They have other vocabularies, or a text is longer than they can read.
    """
    _check(reference, candidate, max(len(text) for text in texts))
    tally = Tally()
    for text in texts:
        for begin in range(0, len(text) - 1, STEP_ROWS):
            shown = text[: min(begin + STEP_ROWS, len(text) - 1)]
            targets = torch.tensor(text[begin + 1 : len(shown) + 1])
            tally.add(reference.logits(shown, begin), candidate.logits(shown, begin), targets)
    return tally.quality()


def measure_greedy(
    reference: ForcedModel, candidate: ForcedModel, texts: list[list[int]], num_tokens: int
) -> Divergence:
    """Let both continue the beginning of each text, greedily.

    Raises:
        QualityError: As :func:`measure`.
    """
    _check(reference, candidate, PROMPT_TOKENS + num_tokens)
    prompts = [text[:PROMPT_TOKENS] for text in texts]
    first = [
        first_divergence(reference.greedy(prompt, num_tokens), candidate.greedy(prompt, num_tokens))
        for prompt in prompts
    ]
    return Divergence(num_tokens, first)


def _check(reference: ForcedModel, candidate: ForcedModel, num_tokens: int) -> None:
    if reference.info.vocab_size != candidate.info.vocab_size:
        raise QualityError("the two have other vocabularies; compare two forms of one model")
    longest = min(reference.info.max_model_len, candidate.info.max_model_len)
    if num_tokens > longest:
        raise QualityError(f"{num_tokens} tokens are more than the model's {longest}; use a smaller window")
