"""Made-up conversations of several turns."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from scenarios.history import History
from scenarios.lengths import LONGEST, Lengths
from scenarios.made_up_prompts import MadeUpPrompts
from scenarios.prompts import PromptStream
from scenarios.request import FollowUp, Message, Prompt
from scenarios.section import fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator

    from scenarios.tokenizers import TokenCounter
    from scenarios.wording import Wording


class Conversation(MadeUpPrompts):
    """A turn is sent when the answer of the turn before has ended and the user has thought.

    It holds all that was said before. Apart from the system prompts no two texts are alike, from their first
    word on (``scenarios.wording``); what a prefix cache can help with is the history and the system prompt.

    Attributes:
        turns: Of a conversation.
        length: Of what the user says in a turn, in ``unit``.
        first_length: Likewise in the first turn; as ``length`` if left out.
        system_length: Of the system prompt, in ``unit``; left out for none.
        num_systems: How many different system prompts there are; each conversation draws one.
        history: ``live`` or ``scripted``.
        answer_length: Of scripted answers, in ``unit``.
    """

    turns: Lengths = Field(examples=["{min: 2, max: 8}"])
    length: Lengths = Field(examples=["40"])
    first_length: Lengths | None = None
    system_length: Lengths | None = None
    num_systems: int = Field(1, ge=1, le=LONGEST)
    history: History = "live"
    answer_length: Lengths | None = None

    @model_validator(mode="after")
    def _check(self) -> Conversation:
        if (self.history == "scripted") != (self.answer_length is not None):
            raise fault("answer_length and history: scripted belong together; give both or neither")
        if self.num_systems > 1 and self.system_length is None:
            raise fault("num_systems counts system prompts; give system_length too")
        return self

    def open(self, rng: Generator, counter: TokenCounter | None = None) -> PromptStream:
        """Endless conversations."""
        wording = self.wording(counter)
        return PromptStream(
            prompts=_Writer(self, rng, wording).prompts(),
            chat_only=True,
            multi_turn=True,
            wording=wording,
            notes=self.length_notes(wording),
        )


class _Writer:
    """Draws the lengths of a source's texts and writes them."""

    def __init__(self, source: Conversation, rng: Generator, wording: Wording) -> None:
        self._source = source
        self._lengths_rng, texts_rng, answers_rng, self._choice_rng = rng.spawn(4)
        self._length = 0
        self._texts = wording.distinct(self._asked_lengths(), texts_rng)
        self._answers = wording.distinct(self._answer_lengths(), answers_rng)
        self._systems = list(self._system_prompts())

    def prompts(self) -> Iterator[Prompt]:
        for _ in itertools.count():
            num_turns = self._source.turns.draw(self._lengths_rng)
            opening = self._user(self._source.first_length or self._source.length)
            system = self._systems[self._choice_rng.integers(len(self._systems))] if self._systems else ()
            yield Prompt(
                messages=(*system, opening),
                follow_ups=tuple(self._follow_up() for _ in range(num_turns - 1)),
            )

    def _follow_up(self) -> FollowUp:
        answer = None if self._source.answer_length is None else next(self._answers)
        return FollowUp(added=(self._user(self._source.length),), answer=answer)

    def _system_prompts(self) -> Iterator[tuple[Message, ...]]:
        if self._source.system_length is not None:
            for _ in range(self._source.num_systems):
                yield (Message("system", self._text(self._source.system_length)),)

    def _user(self, lengths: Lengths) -> Message:
        return Message("user", self._text(lengths))

    def _text(self, lengths: Lengths) -> str:
        self._length = lengths.draw(self._lengths_rng)
        return next(self._texts)

    def _asked_lengths(self) -> Iterator[int]:
        while True:
            yield self._length

    def _answer_lengths(self) -> Iterator[int]:
        while self._source.answer_length is not None:
            yield self._source.answer_length.draw(self._lengths_rng)
