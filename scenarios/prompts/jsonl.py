"""Prompts from a file with one JSON value a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from pydantic import Field

from scenarios.errors import ScenarioError
from scenarios.files import DataFile
from scenarios.order import Order, in_order
from scenarios.prompts import PromptSource, PromptStream
from scenarios.request import Message, Prompt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.random import Generator


class Jsonl(PromptSource):
    """Each line is ``{"prompt": "..."}``, ``{"messages": [{"role", "content"}]}`` or a plain string.

    ``max_tokens`` beside it is that request's output limit; other keys are left alone. Blank lines are
    skipped.

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

    def open(self, rng: Generator) -> PromptStream:
        """The usable prompts in order."""
        prompts = list(read_lines(self.file))
        usable = [prompt for prompt in prompts if self._fits(prompt)]
        if not usable:
            raise ScenarioError(f"prompts: {self.file}: {self._why_none(prompts)}")
        left_out = len(prompts) - len(usable)
        return PromptStream(
            prompts=in_order(usable, self.order, self.repeat, rng),
            num_prompts=len(usable),
            repeats=self.repeat,
            chat_only=any(prompt.messages is not None for prompt in usable),
            notes=(f"{self.file.name}: {left_out} of {len(prompts)} prompts left out by length",)
            if left_out
            else (),
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


class _Line(msgspec.Struct):
    prompt: str | None = None
    messages: tuple[Message, ...] | None = None
    max_tokens: int | None = None


def read_lines(path: Path) -> Iterator[Prompt]:
    """The prompts of a file.

    Raises:
        ScenarioError: A line holds none; the message names it.
    """
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if line.strip():
            yield _prompt(line, f"prompts: {path}:{number}")


def _prompt(line: bytes, place: str) -> Prompt:
    try:
        decoded = msgspec.json.decode(line, type=_Line | str)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{place}: {error}") from error
    if isinstance(decoded, str):
        decoded = _Line(prompt=decoded)
    if (decoded.prompt is None) == (decoded.messages is None):
        raise ScenarioError(f"{place}: needs either 'prompt' or 'messages'")
    if not "".join(_texts(decoded)).strip():
        raise ScenarioError(f"{place}: the prompt is empty")
    if decoded.max_tokens is not None and decoded.max_tokens < 1:
        raise ScenarioError(f"{place}: max_tokens must be at least 1, not {decoded.max_tokens}")
    return Prompt(text=decoded.prompt, messages=decoded.messages, max_tokens=decoded.max_tokens)


def _texts(line: _Line) -> list[str]:
    return [line.prompt or "", *(message.content for message in line.messages or ())]


def num_words(prompt: Prompt) -> int:
    """Words of a prompt, all its turns together."""
    texts = [prompt.text or "", *(message.content for message in prompt.messages or ())]
    return sum(len(text.split()) for text in texts)
