"""Made-up prompts of a stated length, no two alike."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from scenarios.lengths import Lengths
from scenarios.prompts import PromptSource, PromptStream
from scenarios.request import Prompt
from scenarios.wording import distinct_texts

if TYPE_CHECKING:
    from numpy.random import Generator


class Synthetic(PromptSource):
    """Plain English words in random order.

    Prompts differ from their first word on (``scenarios.wording``), so that a prefix cache can't help.

    Attributes:
        length: Of each prompt, in ``unit``.
        unit: ``words``. Most of the words are one token in the vocabularies in use, not all; the server's
            own count is what is reported.
    """

    length: Lengths = Field(examples=["200", "{mean: 200, stdev: 50, min: 20, max: 400}"])
    unit: Literal["words"] = "words"

    def open(self, rng: Generator) -> PromptStream:
        """Endless prompts."""
        lengths_rng, texts_rng = rng.spawn(2)
        lengths = (self.length.draw(lengths_rng) for _ in itertools.count())
        return PromptStream(
            prompts=(Prompt(text=text) for text in distinct_texts(lengths, texts_rng)),
            notes=("synthetic prompts: lengths are exact in words; tokens are as the server counts them",),
        )
