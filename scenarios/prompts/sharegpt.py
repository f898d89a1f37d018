"""Prompts from a data set of shared conversations in ShareGPT's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from pydantic import Field

from scenarios.files import DataFile
from scenarios.prompt_files import PromptFile, decode, make_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator

    from scenarios.prompts import PromptStream
    from scenarios.request import Prompt


class Sharegpt(PromptFile):
    """A JSON list of ``{"conversations": [{"from", "value"}]}``: the first question of each conversation.

    The length of the reply that follows it, in words, is that request's ``max_tokens``. Conversations that
    don't begin with a question and its reply are left out.
    """

    file: DataFile = Field(examples=["sharegpt.json"])

    def read(self) -> Iterator[Prompt]:
        """A prompt for each conversation that has one."""
        place = f"prompts: {self.file}"
        for index, record in enumerate(decode(place, self.file.read_bytes(), list[_Record])):
            turns = [turn for turn in record.conversations if turn.speaker != "system"][:2]
            if [turn.speaker for turn in turns] in _BEGINNINGS and all(turn.value.split() for turn in turns):
                limit = len(turns[1].value.split())
                yield make_prompt(f"{place}[{index}]", text=turns[0].value, max_tokens=limit)

    def open(self, rng: Generator) -> PromptStream:
        """The usable prompts in order."""
        stream = super().open(rng)
        note = "sharegpt: max_tokens of a request is the number of words of its reply"
        return msgspec.structs.replace(stream, notes=(*stream.notes, note))


_BEGINNINGS = (["human", "gpt"], ["user", "assistant"])


class _Turn(msgspec.Struct):
    speaker: str = msgspec.field(name="from")
    value: str


class _Record(msgspec.Struct):
    conversations: list[_Turn] = []
