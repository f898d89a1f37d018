"""Made-up prompts as long, and as alike, as those that came to a real service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.random import PCG64, Generator, SeedSequence
from pydantic import Field

from scenarios.files import DataFile
from scenarios.prompts import PromptSource, PromptStream
from scenarios.request import Prompt
from scenarios.traces import BLOCK_TOKENS, Format, TraceRow, read_trace
from scenarios.wording import distinct_texts, random_words

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
        named = all(row.block_ids for row in rows)
        texts = _shared_texts(rows, rng) if named else _distinct_texts(rows, rng)
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
        starts = range(0, row.prompt_tokens, BLOCK_TOKENS)
        yield " ".join(
            _block(base, block_id, row.prompt_tokens - start)
            for block_id, start in zip(row.block_ids, starts, strict=True)
        )


def _block(base: int, block_id: int, length: int) -> str:
    """The first ``length`` words of a block: always the same under the same ``base``."""
    rng = Generator(PCG64(SeedSequence(base, spawn_key=(block_id,))))
    return " ".join(random_words(BLOCK_TOKENS, rng)[:length])
