"""Prompts from a data set of shared conversations in ShareGPT's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from pydantic import Field

from scenarios.files import DataFile
from scenarios.prompt_files import PromptFile, decode, make_prompt
from scenarios.reply_lengths import reply_lengths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scenarios.request import Prompt
    from scenarios.tokenizers import TokenCounter


class Sharegpt(PromptFile):
    """A JSON list of ``{"conversations": [{"from", "value"}]}``: the first question of each conversation.

    The length of the reply that follows it is that request's ``max_tokens``: in tokens where the scenario
    names a tokenizer, else in words. Conversations that don't begin with a question and its reply are left
    out.
    """

    file: DataFile = Field(examples=["sharegpt.json"])

    def read(self) -> Iterator[Prompt]:
        """A prompt for each conversation that has one."""
        return iter(self.read_counted(None)[0])

    def read_counted(self, counter: TokenCounter | None) -> tuple[list[Prompt], tuple[str, ...]]:
        """The same, replies in tokens where somebody counts them."""
        asked = list(self._asked())
        lengths = reply_lengths((reply for _, _, reply in asked), counter)
        prompts = [
            make_prompt(place, text=question, max_tokens=lengths.limit(reply))
            for place, question, reply in asked
        ]
        return prompts, (f"sharegpt: max_tokens of a request is the number of {lengths.unit} of its reply",)

    def _asked(self) -> Iterator[tuple[str, str, str]]:
        """Place, question and reply."""
        place = f"prompts: {self.file}"
        for index, record in enumerate(decode(place, self.file.read_bytes(), list[_Record])):
            turns = [turn for turn in record.conversations if turn.speaker != "system"][:2]
            if [turn.speaker for turn in turns] in _BEGINNINGS and all(turn.value.split() for turn in turns):
                yield f"{place}[{index}]", turns[0].value, turns[1].value


_BEGINNINGS = (["human", "gpt"], ["user", "assistant"])


class _Turn(msgspec.Struct):
    speaker: str = msgspec.field(name="from")
    value: str


class _Record(msgspec.Struct):
    conversations: list[_Turn] = []
