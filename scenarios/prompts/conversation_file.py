"""Conversations from a data set: JSONL with lists of messages, or ShareGPT's JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import structs
from pydantic import Field

from scenarios.errors import ScenarioError
from scenarios.files import DataFile, read_data
from scenarios.history import History
from scenarios.json_files import decode, decode_records, lines
from scenarios.prompt_files import FileContents, PromptFile
from scenarios.ranges import MAX_REQUESTS
from scenarios.reply_lengths import ReplyLengths, reply_lengths
from scenarios.request import FollowUp, Message, Prompt
from scenarios.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.random import Generator

    from scenarios.prompts import PromptStream
    from scenarios.tokenizers import TokenCounter


class ConversationFile(PromptFile):
    """Each user message that an answer follows in the data, and the last one, is a turn.

    Read are lines of ``{"messages": [{"role", "content"}]}`` or ``{"conversations": [{"from", "value"}]}``,
    and a JSON list of such objects (ShareGPT). ``delay_ms`` beside a user message is the time from the answer
    before to it, unless ``load.think_time`` says another. The length of the answer in the data is a turn's
    ``max_tokens``: in tokens where the scenario names a tokenizer, else in words. A conversation that doesn't
    begin with a user (after a system prompt) is left out, and counted in the notes, as is one that is cut.

    Attributes:
        history: ``live`` or ``scripted``: the answers of the data.
        max_turns: Later turns are left out.
    """

    file: DataFile = Field(examples=["conversations.jsonl"])
    history: History = "live"
    max_turns: int | None = Field(None, ge=1, le=MAX_REQUESTS)

    def read(self, counter: TokenCounter | None) -> FileContents:
        """A prompt for each conversation that has a turn."""
        written, changes = self._written()
        tally = Tally()
        each_turns = [self._turns(place, record, tally) for place, record in written]
        conversations = [turns for turns in each_turns if turns]
        answers = (turn.answer for turns in conversations for turn in turns)
        lengths = reply_lengths((each for each in answers if each is not None), counter)
        note = f"max_tokens of a turn is the number of {lengths.unit} of its answer in the data"
        notes = (*changes, *tally.notes(self.file.name, len(written)))
        prompts = [self._prompt(turns, lengths) for turns in conversations]
        return FileContents(prompts, (*notes, f"conversation_file: {note}") if prompts else notes)

    def open(self, rng: Generator, counter: TokenCounter | None = None) -> PromptStream:
        """The usable conversations in order."""
        return structs.replace(super().open(rng, counter), multi_turn=True)

    def _written(self) -> tuple[list[tuple[str, _Record]], tuple[str, ...]]:
        """Place and conversation, and the changes that it took to read them."""
        place, whole = f"prompts: {self.file}", read_data(self.file)
        if not whole.lstrip().startswith(b"["):
            return [(place, decode(place, text, _Record)) for place, text in lines(self.file)], ()
        records, changes = decode_records(self.file, whole, _Record)
        return [(f"{place}[{index}]", each) for index, each in enumerate(records)], changes

    def _turns(self, place: str, record: _Record, tally: Tally) -> list[_Turn]:
        turns = list(_turns(place, record.said))
        if not turns:
            tally.add("conversations left out because they don't begin with a user")
        elif len(turns) > (self.max_turns or len(turns)):
            tally.add("conversations cut to max_turns")
        elif sum(len(turn.asked) + (turn.answer is not None) for turn in turns) < len(record.said):
            tally.add("conversations cut where an answer has no question, or a question no user")
        return turns[: self.max_turns]

    def _prompt(self, turns: Sequence[_Turn], lengths: ReplyLengths) -> Prompt:
        first, *later = turns
        return Prompt(
            messages=first.asked,
            max_tokens=lengths.limit(first.answer),
            follow_ups=tuple(
                FollowUp(
                    added=turn.asked,
                    answer=before.answer if self.history == "scripted" else None,
                    think_ns=turn.think_ns,
                    max_tokens=lengths.limit(turn.answer),
                )
                for before, turn in zip(turns, later, strict=False)
            ),
        )


class _Said(msgspec.Struct):
    role: str | None = None
    content: str | None = None
    speaker: str | None = msgspec.field(name="from", default=None)
    value: str | None = None
    delay_ms: Annotated[float, msgspec.Meta(ge=0, le=9e12)] | None = None


class _Record(msgspec.Struct):
    messages: list[_Said] | None = None
    conversations: list[_Said] | None = None

    @property
    def said(self) -> list[_Said]:
        return self.messages or self.conversations or []


class _Turn(msgspec.Struct):
    asked: tuple[Message, ...]
    think_ns: int | None
    answer: str | None = None


_ROLES: Final = {"human": "user", "gpt": "assistant", "bing": "assistant", "chatgpt": "assistant"}
_KNOWN: Final = ("system", "developer", "user", "assistant")


def _turns(place: str, said: Sequence[_Said]) -> Iterator[_Turn]:
    """What is asked before each answer, with the answer; the last may have none.

    A conversation that an answer begins has no turn, nor has what comes after two answers in a row.
    """
    asked: list[Message] = []
    think_ns: int | None = None
    for each in said:
        message = _message(place, each)
        if message.role != "assistant":
            asked.append(message)
            think_ns = round(each.delay_ms * 1e6) if each.delay_ms is not None else think_ns
        elif any(before.role == "user" for before in asked):
            yield _Turn(tuple(asked), think_ns, message.content)
            asked, think_ns = [], None
        else:
            return
    if any(before.role == "user" for before in asked):
        yield _Turn(tuple(asked), think_ns)


def _message(place: str, said: _Said) -> Message:
    name = said.role or said.speaker or ""
    content = said.content if said.content is not None else said.value
    role = _ROLES.get(name, name)
    if role == "tool":
        raise ScenarioError(f"{place}: results of tools can't be sent; write them as messages of the user")
    if role not in _KNOWN:
        raise ScenarioError(f"{place}: who is '{name}'? a message is by one of {', '.join(_KNOWN)}")
    if content is None:
        raise ScenarioError(f"{place}: a message without text; only text can be sent")
    return Message(role, content)
