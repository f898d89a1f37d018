"""Made-up prompts that begin alike, for servers with a prefix cache."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pydantic import Field

from scenarios.lengths import Lengths
from scenarios.prompts import PromptSource, PromptStream
from scenarios.rates import Share
from scenarios.request import Prompt
from scenarios.wording import distinct_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator


class SharedPrefix(PromptSource):
    """Some of the prompts begin with one of a few prefixes; no two are alike as a whole.

    Attributes:
        prefix_length: Of each prefix, in words.
        num_prefixes: How many different prefixes there are.
        share: Of the prompts that begin with one; drawn for each prompt.
        length: Of what comes after the prefix, in words.
    """

    prefix_length: Lengths = Field(examples=[500])
    num_prefixes: int = Field(1, ge=1)
    share: Share = 1.0
    length: Lengths = Field(examples=[50])

    def open(self, rng: Generator) -> PromptStream:
        """Endless prompts."""
        return PromptStream(
            prompts=self._prompts(rng),
            notes=(
                "shared_prefix prompts: lengths are exact in words; tokens are as the server counts them",
            ),
        )

    def _prompts(self, rng: Generator) -> Iterator[Prompt]:
        lengths_rng, texts_rng, choice_rng = rng.spawn(3)
        prefix_lengths = (self.prefix_length.draw(lengths_rng) for _ in range(self.num_prefixes))
        lengths = itertools.chain(prefix_lengths, (self.length.draw(lengths_rng) for _ in itertools.count()))
        texts = distinct_texts(lengths, texts_rng)
        prefixes = list(itertools.islice(texts, self.num_prefixes))
        for text in texts:
            prefix = prefixes[choice_rng.integers(len(prefixes))]
            yield Prompt(text=f"{prefix} {text}" if choice_rng.random() < self.share else text)
