"""Prompt sources that read a file: what they have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, TypeVar

import msgspec
from pydantic import Field

from scenarios.conversation import num_requests
from scenarios.counted_prompts import with_token_counts
from scenarios.errors import ScenarioError
from scenarios.files import DataFile
from scenarios.order import Order, in_order
from scenarios.prompts import PromptSource, PromptStream
from scenarios.request import Message, Prompt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.random import Generator

    from scenarios.tokenizers import TokenCounter


_T = TypeVar("_T")


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
    def read(self) -> Iterator[Prompt]:
        """The prompts of the file.

        Raises:
            ScenarioError: One can't be read; the message names its place.
        """

    def read_counted(self, counter: TokenCounter | None) -> tuple[list[Prompt], tuple[str, ...]]:
        """The prompts, and notes on them; for sources that take limits from the lengths of texts."""
        del counter
        return list(self.read()), ()

    def open(self, rng: Generator, counter: TokenCounter | None = None) -> PromptStream:
        """The usable prompts in order."""
        prompts, notes = self.read_counted(counter)
        usable = with_token_counts([prompt for prompt in prompts if self._fits(prompt)], counter)
        if not usable:
            raise ScenarioError(f"prompts: {self.file}: {self._why_none(prompts)}")
        left_out = len(prompts) - len(usable)
        note = f"{self.file.name}: {left_out} of {len(prompts)} prompts left out by length"
        return PromptStream(
            prompts=in_order(usable, self.order, self.repeat, rng),
            num_prompts=len(usable),
            num_turns=num_requests(usable),
            repeats=self.repeat,
            chat_only=any(prompt.messages is not None for prompt in usable),
            notes=(*((note,) if left_out else ()), *notes),
        )

    def _fits(self, prompt: Prompt) -> bool:
        return self.min_words <= num_words(prompt) <= (self.max_words or num_words(prompt))

    def _why_none(self, prompts: list[Prompt]) -> str:
        if not prompts:
            return "holds no prompt"
        shortest, longest = min(map(num_words, prompts)), max(map(num_words, prompts))
        return (
            f"none of its {len(prompts)} prompts is left by min_words {self.min_words} and max_words "
            f"{self.max_words}; they have {shortest} to {longest} words"
        )


def num_words(prompt: Prompt) -> int:
    """Words of a prompt, all its turns together."""
    texts = [prompt.text or "", *(message.content for message in prompt.messages or ())]
    return sum(len(text.split()) for text in texts)


def lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Place (``prompts: file:line``) and bytes of each line that isn't blank; only LF ends a line."""
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if line.strip():
            yield f"prompts: {path}:{number}", line


def make_prompt(
    place: str,
    *,
    text: str | None = None,
    messages: tuple[Message, ...] | None = None,
    max_tokens: int | None = None,
) -> Prompt:
    """A prompt that a server can answer.

    Raises:
        ScenarioError: There is no text, or a limit below 1.
    """
    if (text is None) == (messages is None):
        raise ScenarioError(f"{place}: needs either 'prompt' or 'messages'")
    if max_tokens is not None and max_tokens < 1:
        raise ScenarioError(f"{place}: max_tokens must be at least 1, not {max_tokens}")
    prompt = Prompt(text=text, messages=messages, max_tokens=max_tokens)
    if not num_words(prompt):
        raise ScenarioError(f"{place}: the prompt is empty")
    return prompt


def decode(place: str, text: bytes, kind: type[_T]) -> _T:
    """The JSON value ``text`` holds.

    Raises:
        ScenarioError: It isn't JSON of that form.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{place}: {error}") from error
