"""What is asked.

A prompt source is one file of this folder. Its name is the value of ``prompts.source`` in a scenario; its
keys stand beside it in ``prompts``. The file holds one subclass of ``PromptSource``::

    class Counting(PromptSource):
        first: int = 1

        def open(self, rng: Generator, counter: TokenCounter | None = None) -> PromptStream:
            return PromptStream(prompts=(Prompt(text=f"Is {n} prime?") for n in itertools.count(self.first)))

``open`` reads and checks everything at once, so that a fault shows before any load is sent; the prompts
themselves are made one by one. All chance comes from ``rng``: same seed, same prompts. Where the scenario
names a tokenizer, ``counter`` counts with it; texts of exact lengths are made by ``MadeUpPrompts``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import msgspec
from pydantic import BeforeValidator, SerializeAsAny

from scenarios.kinds import Kinds
from scenarios.request import Prompt
from scenarios.section import Section
from scenarios.wording import Wording

if TYPE_CHECKING:
    from numpy.random import Generator

    from scenarios.tokenizers import TokenCounter


class PromptStream(msgspec.Struct, frozen=True, kw_only=True):
    """Prompts in the order in which they are sent.

    Attributes:
        prompts: Can be iterated once.
        num_prompts: How many there are before they begin anew or end; None where new ones never end.
        repeats: Whether they begin anew after ``num_prompts``, or end there.
        chat_only: Whether some are conversations, which only a chat endpoint takes.
        num_turns: Requests that ``num_prompts`` make, all turns counted; None where each makes one.
        multi_turn: Whether some go on after an answer (``Prompt.follow_ups``).
        wording: What made their texts; None where they were not made up.
        written_for: The endpoint that their data set was written for; None where it doesn't say.
        own_fields: Body fields that their data set asks for, and how many of them do.
        notes: What a reader of the report must know about them.
    """

    prompts: Iterator[Prompt]
    num_prompts: int | None = None
    repeats: bool = False
    chat_only: bool = False
    num_turns: int | None = None
    multi_turn: bool = False
    wording: Wording | None = None
    written_for: str | None = None
    own_fields: dict[str, int] = {}
    notes: tuple[str, ...] = ()

    @property
    def num_requests(self) -> int | None:
        """Requests before they begin anew or end."""
        return self.num_prompts if self.num_turns is None else self.num_turns


class PromptSource(Section, ABC):
    """Where prompts come from.

    Attributes:
        source: Name of the source.
    """

    source: str

    @abstractmethod
    def open(self, rng: Generator, counter: TokenCounter | None = None) -> PromptStream:
        """The prompts of one run.

        Args:
            rng: All chance.
            counter: Counts tokens; None where the scenario names no tokenizer.

        Raises:
            ScenarioError: There are none, or they can't be read.
        """


kinds: Kinds[PromptSource] = Kinds(__name__, "source", PromptSource)  # type: ignore[type-abstract]  # only its subclasses are made

Prompts = Annotated[SerializeAsAny[PromptSource], BeforeValidator(kinds.build)]
"""The ``prompts`` section of a scenario."""
