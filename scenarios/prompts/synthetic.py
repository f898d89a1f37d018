"""Made-up prompts of a stated length, no two alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from scenarios.lengths import Lengths
from scenarios.prompts import PromptSource, PromptStream
from scenarios.request import Prompt
from scenarios.vocabulary import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator


class Synthetic(PromptSource):
    """Plain English words in random order.

    Prompts differ from their first word on, so that a prefix cache can't help: no first word is used
    again before all words of the vocabulary have been, and no first pair before all pairs have been.

    Attributes:
        length: Of each prompt, in ``unit``.
        unit: ``words``. Most of the words are one token in the vocabularies in use, not all; the server's
            own count is what is reported.
    """

    length: Lengths = Field(examples=["200", "{mean: 200, stdev: 50, min: 20, max: 400}"])
    unit: Literal["words"] = "words"

    def open(self, rng: Generator) -> PromptStream:
        """Endless prompts."""
        return PromptStream(
            prompts=self._prompts(rng),
            notes=("synthetic prompts: lengths are exact in words; tokens are as the server counts them",),
        )

    def _prompts(self, rng: Generator) -> Iterator[Prompt]:
        words = [WORDS[place] for place in rng.permutation(len(WORDS))]
        index = 0
        while True:
            round_, first = divmod(index, len(words))
            head = [words[first], words[(first + round_ + 1) % len(words)]]
            length = self.length.draw(rng)
            tail = rng.integers(len(words), size=max(length - 2, 0)).tolist()
            yield Prompt(text=" ".join([*head, *(words[place] for place in tail)][:length]))
            index += 1
