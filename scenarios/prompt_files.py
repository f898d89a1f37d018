"""Prompt sources that read a file: what they have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
from pydantic import Field

from scenarios.conversation import num_requests
from scenarios.counted_prompts import with_token_counts
from scenarios.errors import ScenarioError
from scenarios.files import DataFile
from scenarios.json_values import json_fault
from scenarios.lengths import LONGEST
from scenarios.order import Order, in_order
from scenarios.prompts import PromptSource, PromptStream
from scenarios.request import Message, Prompt

if TYPE_CHECKING:
    from numpy.random import Generator

    from scenarios.tokenizers import TokenCounter


class FileContents(msgspec.Struct, frozen=True):
    """What a file holds.

    Attributes:
        prompts: All that can be sent.
        notes: What was left out or changed, and what the reader of a report must know besides.
        written_for: As in ``PromptStream``.
    """

    prompts: list[Prompt]
    notes: tuple[str, ...] = ()
    written_for: str | None = None


class PromptFile(PromptSource):
    """Prompts from a file, all read before the run.

    Attributes:
        file: The file, UTF-8.
        min_words: Shorter prompts are left out.
        max_words: Longer prompts are left out.
        order: ``sequential`` or ``random``.
        repeat: Begin anew after the last prompt; otherwise the run ends there.
    """

    file: DataFile = Field(examples=["prompts.jsonl"])
    min_words: int = Field(1, ge=1)
    max_words: int | None = Field(None, ge=1)
    order: Order = "sequential"
    repeat: bool = True

    @abstractmethod
    def read(self, counter: TokenCounter | None) -> FileContents:
        """The prompts of the file.

        Args:
            counter: For sources that take limits from the lengths of texts; None where nobody counts.

        Raises:
            ScenarioError: One can't be read; the message names its place.
        """

    def open(self, rng: Generator, counter: TokenCounter | None = None) -> PromptStream:
        """The usable prompts in order."""
        found = self.read(counter)
        usable = with_token_counts([prompt for prompt in found.prompts if self._fits(prompt)], counter)
        if not usable:
            raise ScenarioError(f"prompts: {self.file}: {self._why_none(found)}")
        left_out = len(found.prompts) - len(usable)
        note = f"{self.file.name}: {left_out} of {len(found.prompts)} prompts left out by length"
        return PromptStream(
            prompts=in_order(usable, self.order, self.repeat, rng),
            num_prompts=len(usable),
            num_turns=num_requests(usable),
            repeats=self.repeat,
            chat_only=any(prompt.messages is not None for prompt in usable),
            notes=(*((note,) if left_out else ()), *found.notes),
            written_for=found.written_for,
            own_fields=Counter(field for prompt in usable for field in prompt.fields),
        )

    def _fits(self, prompt: Prompt) -> bool:
        return self.min_words <= num_words(prompt) <= (self.max_words or num_words(prompt))

    def _why_none(self, found: FileContents) -> str:
        prompts = found.prompts
        if not prompts:
            return "; ".join(["holds no prompt that can be sent", *found.notes])
        shortest, longest = min(map(num_words, prompts)), max(map(num_words, prompts))
        return (
            f"none of its {len(prompts)} prompts is left by min_words {self.min_words} and max_words "
            f"{self.max_words}; they have {shortest} to {longest} words"
        )


def num_words(prompt: Prompt) -> int:
    """Words of a prompt, all its turns together."""
    texts = [prompt.text or "", *(message.content for message in prompt.messages or ())]
    return sum(len(text.split()) for text in texts)


def make_prompt(
    place: str,
    *,
    text: str | None = None,
    messages: tuple[Message, ...] | None = None,
    max_tokens: int | None = None,
    fields: dict[str, Any] | None = None,
) -> Prompt:
    """A prompt that a server can answer.

    Raises:
        ScenarioError: There is no text, or a limit that no answer has, or a field that can't be sent.
    """
    if (text is None) == (messages is None):
        raise ScenarioError(f"{place}: needs either 'prompt' or 'messages'")
    if max_tokens is not None and not 1 <= max_tokens <= LONGEST:
        limit = "at least 1" if max_tokens < 1 else f"at most {LONGEST}"
        raise ScenarioError(f"{place}: max_tokens must be {limit}, not {max_tokens}")
    if unsendable := json_fault(fields or {}):
        raise ScenarioError(f"{place}: {unsendable}")
    own_fields = msgspec.json.encode(fields).decode() if fields else ""
    prompt = Prompt(text=text, messages=messages, max_tokens=max_tokens, own_fields=own_fields)
    if not num_words(prompt):
        raise ScenarioError(f"{place}: the prompt is empty")
    return prompt
