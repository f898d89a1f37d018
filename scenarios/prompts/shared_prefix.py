"""Made-up prompts that begin alike, for servers with a prefix cache."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from pydantic import Field, model_validator

from scenarios.lengths import LONGEST, Lengths
from scenarios.made_up_prompts import MadeUpPrompts
from scenarios.prompts import PromptStream
from scenarios.rates import Share
from scenarios.request import Prompt
from scenarios.section import fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator

    from scenarios.tokenizers import TokenCounter
    from scenarios.wording import Wording

_MAX_KEPT: Final = 20_000_000


class SharedPrefix(MadeUpPrompts):
    """Some of the prompts begin with one of a few prefixes; no two are alike as a whole.

    Attributes:
        prefix_length: Of each prefix, in ``unit``.
        num_prefixes: How many different prefixes there are.
        share: Of the prompts that begin with one; drawn for each prompt.
        length: Of what comes after the prefix, in ``unit``.
    """

    prefix_length: Lengths = Field(examples=[500])
    num_prefixes: int = Field(1, ge=1, le=LONGEST)
    share: Share = 1.0
    length: Lengths = Field(examples=[50])

    @model_validator(mode="after")
    def _check_size(self) -> SharedPrefix:
        if self.num_prefixes * self.prefix_length.average > _MAX_KEPT:
            raise fault(
                f"the prefixes are kept in memory, and more than {_MAX_KEPT} words are too many; give less"
            )
        return self

    def open(self, rng: Generator, counter: TokenCounter | None = None) -> PromptStream:
        """Endless prompts."""
        wording = self.wording(counter)
        return PromptStream(
            prompts=self._prompts(rng, wording),
            wording=wording,
            notes=(*self.length_notes(wording), self._hit_note("tokens" if wording.in_tokens else "words")),
        )

    def _prompts(self, rng: Generator, wording: Wording) -> Iterator[Prompt]:
        lengths_rng, texts_rng, choice_rng = rng.spawn(3)
        prefix_lengths = (self.prefix_length.draw(lengths_rng) for _ in range(self.num_prefixes))
        lengths = itertools.chain(prefix_lengths, (self.length.draw(lengths_rng) for _ in itertools.count()))
        texts = wording.distinct(lengths, texts_rng)
        prefixes = list(itertools.islice(texts, self.num_prefixes))
        for text in texts:
            prefix = prefixes[choice_rng.integers(len(prefixes))]
            is_shared = choice_rng.random() < self.share
            yield Prompt(text=wording.join([prefix, text]) if is_shared else text)

    def _hit_note(self, unit: str) -> str:
        shared = self.share * self.prefix_length.average
        hits = shared / (shared + self.length.average)
        return (
            f"shared_prefix: {100 * self.share:.4g} % of the prompts begin with one of {self.num_prefixes} "
            f"shared prefixes, in all {100 * hits:.1f} % of the {unit}: a prefix cache can't save more"
        )
