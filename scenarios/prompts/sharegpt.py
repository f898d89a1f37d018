"""Prompts from a data set of shared conversations in ShareGPT's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from pydantic import Field

from scenarios.files import DataFile, read_data
from scenarios.json_files import decode_records
from scenarios.prompt_files import FileContents, PromptFile, make_prompt
from scenarios.reply_lengths import reply_lengths
from scenarios.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scenarios.tokenizers import TokenCounter


class Sharegpt(PromptFile):
    """A JSON list of ``{"conversations": [{"from", "value"}]}``: the first question of each conversation.

    The length of the reply that follows it is that request's ``max_tokens``: in tokens where the scenario
    names a tokenizer, else in words. Conversations that don't begin with a question and its reply are left
    out, and counted in the notes, as are system prompts, without which the others are sent.
    """

    file: DataFile = Field(examples=["sharegpt.json"])

    def read(self, counter: TokenCounter | None) -> FileContents:
        """A prompt for each conversation that has one."""
        place = f"prompts: {self.file}"
        records, changes = decode_records(self.file, read_data(self.file), _Record)
        tally = Tally()
        asked = list(_asked(place, records, tally))
        lengths = reply_lengths((reply for _, _, reply in asked), counter)
        prompts = [
            make_prompt(place, text=question, max_tokens=lengths.limit(reply))
            for place, question, reply in asked
        ]
        note = f"sharegpt: max_tokens of a request is the number of {lengths.unit} of its reply"
        notes = (*changes, *tally.notes(self.file.name, len(records)))
        return FileContents(prompts, (*notes, note) if prompts else notes)


def _asked(place: str, records: list[_Record], tally: Tally) -> Iterator[tuple[str, str, str]]:
    """Place, question and reply."""
    for index, record in enumerate(records):
        turns = [turn for turn in record.conversations if turn.speaker != "system"][:2]
        if [turn.speaker for turn in turns] not in _BEGINNINGS:
            tally.add("records left out because they don't begin with a question and its reply")
        elif not all(turn.value.split() for turn in turns):
            tally.add("records left out because their question or reply is empty")
        else:
            if any(turn.speaker == "system" for turn in record.conversations):
                tally.add("records sent without their system prompt")
            yield f"{place}[{index}]", turns[0].value, turns[1].value


_BEGINNINGS = (["human", "gpt"], ["user", "assistant"])


class _Turn(msgspec.Struct):
    speaker: str = msgspec.field(name="from")
    value: str


class _Record(msgspec.Struct):
    conversations: list[_Turn] = []
