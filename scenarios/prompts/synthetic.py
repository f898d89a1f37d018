"""Made-up prompts of a stated length, no two alike."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pydantic import Field

from scenarios.lengths import Lengths
from scenarios.made_up_prompts import MadeUpPrompts
from scenarios.prompts import PromptStream
from scenarios.request import Prompt

if TYPE_CHECKING:
    from numpy.random import Generator

    from scenarios.tokenizers import TokenCounter


class Synthetic(MadeUpPrompts):
    """Plain English words in random order.

    Prompts differ from their first word on (``scenarios.wording``), so that a prefix cache can't help.

    Attributes:
        length: Of each prompt, in ``unit``.
    """

    length: Lengths = Field(examples=["200", "{mean: 200, stdev: 50, min: 20, max: 400}"])

    def open(self, rng: Generator, counter: TokenCounter | None = None) -> PromptStream:
        """Endless prompts."""
        wording = self.wording(counter)
        lengths_rng, texts_rng = rng.spawn(2)
        lengths = (self.length.draw(lengths_rng) for _ in itertools.count())
        return PromptStream(
            prompts=(Prompt(text=text) for text in wording.distinct(lengths, texts_rng)),
            wording=wording,
            notes=self.length_notes(wording),
        )
