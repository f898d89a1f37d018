"""Made-up prompts as long, and as alike, as those that came to a real service."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from numpy.random import PCG64, Generator, SeedSequence
from pydantic import Field

from scenarios.files import DataFile
from scenarios.prompts import PromptSource, PromptStream
from scenarios.request import Prompt
from scenarios.traces import BLOCK_TOKENS, Format, TraceRow, read_trace
from scenarios.vocabulary import WORDS
from scenarios.wording import distinct_texts

if TYPE_CHECKING:
    from collections.abc import Iterator


class Trace(PromptSource):
    """One prompt for each request of a trace, its length in words that of the trace in tokens.

    ``max_tokens`` is the length of the answer in the trace; with ``sampling: {ignore_eos: true}`` answers
    are just as long. Where the trace names blocks (Mooncake), prompts share what they shared there;
    elsewhere no two are alike.

    Attributes:
        file: The trace.
        format: ``azure`` or ``mooncake``.
    """

    file: DataFile = Field(examples=["trace.csv"])
    format: Format = Field(examples=["azure"])

    def open(self, rng: Generator) -> PromptStream:
        """The prompts in the order of the trace, once."""
        rows = read_trace(self.file, self.format)
        texts = _shared_texts(rows, rng) if rows[0].block_ids else _distinct_texts(rows, rng)
        prompts = (
            Prompt(text=text, max_tokens=max(row.output_tokens, 1))
            for row, text in zip(rows, texts, strict=True)
        )
        return PromptStream(
            prompts=prompts,
            num_prompts=len(rows),
            notes=("prompts made up after a trace: lengths in tokens there are lengths in words here",),
        )


def _distinct_texts(rows: list[TraceRow], rng: Generator) -> Iterator[str]:
    return distinct_texts((max(row.prompt_tokens, 1) for row in rows), rng)


def _shared_texts(rows: list[TraceRow], rng: Generator) -> Iterator[str]:
    base = int(rng.integers(2**63))
    for row in rows:
        words = itertools.chain.from_iterable(_block(base, block_id) for block_id in row.block_ids)
        yield " ".join(itertools.islice(words, max(row.prompt_tokens, 1)))


def _block(base: int, block_id: int) -> list[str]:
    """The words of a block: always the same under the same ``base``."""
    rng = Generator(PCG64(SeedSequence(base, spawn_key=(block_id,))))
    return [WORDS[place] for place in rng.integers(len(WORDS), size=BLOCK_TOKENS).tolist()]
