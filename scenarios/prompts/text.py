"""Prompts written down in the scenario itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from scenarios.order import Order, in_order
from scenarios.prompts import PromptSource, PromptStream
from scenarios.request import Prompt
from scenarios.section import fault
from scenarios.texts import Texts

if TYPE_CHECKING:
    from numpy.random import Generator


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

    def open(self, rng: Generator) -> PromptStream:
        """The texts in order, endlessly."""
        prompts = [Prompt(text=text) for text in self.text]
        return PromptStream(
            prompts=in_order(prompts, self.order, repeat=True, rng=rng),
            num_prompts=len(self.text),
            repeats=True,
        )
