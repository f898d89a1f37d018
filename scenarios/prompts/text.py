"""Prompts written down in the scenario itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from scenarios.counted_prompts import with_token_counts
from scenarios.order import Order, in_order
from scenarios.prompts import PromptSource, PromptStream
from scenarios.request import Prompt
from scenarios.section import fault
from scenarios.texts import Texts

if TYPE_CHECKING:
    from numpy.random import Generator

    from scenarios.tokenizers import TokenCounter


class Text(PromptSource):
    """One prompt or a list of prompts, over and over.

    Attributes:
        text: The prompt, or the prompts.
        order: ``sequential`` or ``random``.
    """

    text: Texts = Field(examples=['"Explain KV cache in 2 sentences."'])
    order: Order = "sequential"

    @field_validator("text", mode="after")
    @classmethod
    def _not_empty(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(text.strip() for text in value):
            raise fault("holds an empty prompt; a server has nothing to answer to")
        return value

    def open(self, rng: Generator, counter: TokenCounter | None = None) -> PromptStream:
        """The texts in order, endlessly."""
        prompts = with_token_counts([Prompt(text=text) for text in self.text], counter)
        return PromptStream(
            prompts=in_order(prompts, self.order, repeat=True, rng=rng),
            num_prompts=len(self.text),
            repeats=True,
        )
