"""Made-up prompts as long, and as alike, as those that came to a real service."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from numpy.random import PCG64, Generator, SeedSequence
from pydantic import Field

from scenarios.files import DataFile
from scenarios.made_up_prompts import MadeUpPrompts
from scenarios.prompts import PromptStream
from scenarios.request import Prompt
from scenarios.tally import Tally
from scenarios.traces import BLOCK_TOKENS, Format, TraceRow, read_trace, trace_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scenarios.tokenizers import TokenCounter
    from scenarios.wording import Wording

_NUM_KEPT: Final = 4_096


class Trace(MadeUpPrompts):
    """One prompt for each request of a trace, as long in ``unit`` as that in tokens.

    ``max_tokens`` is the length of the answer in the trace; with ``sampling: {ignore_eos: true}`` answers
    are just as long. Where the trace names blocks (Mooncake), prompts share what they shared there;
    elsewhere no two are alike.

    Attributes:
        file: The trace.
        format: ``azure``, ``burstgpt`` or ``mooncake``.
    """

    file: DataFile = Field(examples=["trace.csv"])
    format: Format = Field(examples=["azure"])

    def open(self, rng: Generator, counter: TokenCounter | None = None) -> PromptStream:
        """The prompts in the order of the trace, once."""
        wording = self.wording(counter)
        rows = read_trace(self.file, self.format)
        named = all(row.block_ids for row in rows)
        texts = _shared_texts(rows, rng, wording) if named else _distinct_texts(rows, rng, wording)
        prompts = (
            Prompt(text=text, max_tokens=max(row.output_tokens, 1))
            for row, text in zip(rows, texts, strict=True)
        )
        hits = (_hit_note(rows),) if named else ()
        return PromptStream(
            prompts=prompts,
            num_prompts=len(rows),
            wording=wording,
            notes=(
                *trace_notes(self.file, self.format),
                *_zeros(rows).notes(self.file.name, len(rows)),
                *self.length_notes(wording),
                *hits,
            ),
        )

    def length_notes(self, wording: Wording) -> tuple[str, ...]:
        """What the lengths are in, where they aren't in tokens."""
        note = "prompts made up after a trace: lengths in tokens there are lengths in words here"
        return () if wording.in_tokens else (note,)


def _distinct_texts(rows: list[TraceRow], rng: Generator, wording: Wording) -> Iterator[str]:
    return wording.distinct((max(row.prompt_tokens, 1) for row in rows), rng)


def _shared_texts(rows: list[TraceRow], rng: Generator, wording: Wording) -> Iterator[str]:
    base = int(rng.integers(2**63))
    for row in rows:
        starts = range(0, row.prompt_tokens, BLOCK_TOKENS)
        yield wording.join(
            _block(base, block_id, wording, min(BLOCK_TOKENS, row.prompt_tokens - start))
            for block_id, start in zip(row.block_ids, starts, strict=True)
        )


@functools.lru_cache(maxsize=_NUM_KEPT)
def _block(base: int, block_id: int, wording: Wording, length: int) -> str:
    """The beginning of a block: always the same under the same ``base``."""
    rng = Generator(PCG64(SeedSequence(base, spawn_key=(block_id,))))
    whole = wording.random(BLOCK_TOKENS, rng)
    return whole if length == BLOCK_TOKENS else wording.shorten(whole, length)


def _zeros(rows: list[TraceRow]) -> Tally:
    tally = Tally()
    for row in rows:
        if row.output_tokens == 0:
            tally.add("requests whose answer has 0 tokens, sent with max_tokens 1")
        if row.prompt_tokens == 0:
            tally.add("requests whose prompt has 0 tokens, sent with one of length 1")
    return tally


def _hit_note(rows: list[TraceRow]) -> str:
    num_blocks = sum(len(row.block_ids) for row in rows)
    num_hits = num_blocks - len({block_id for row in rows for block_id in row.block_ids})
    return (
        f"trace: {num_hits} of its {num_blocks} blocks of {BLOCK_TOKENS} came before "
        f"({100 * num_hits / num_blocks:.2f} %): what an endless prefix cache would find"
    )
