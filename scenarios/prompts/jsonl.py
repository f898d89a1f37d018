"""Prompts from a file with one JSON value a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from scenarios.prompt_files import PromptFile, decode, lines, make_prompt
from scenarios.request import Message, Prompt

if TYPE_CHECKING:
    from collections.abc import Iterator


class Jsonl(PromptFile):
    """Each line is ``{"prompt": "..."}``, ``{"messages": [{"role", "content"}]}`` or a plain string.

    ``max_tokens`` beside it is that request's output limit; other keys are left alone. Blank lines are
    skipped.
    """

    def read(self) -> Iterator[Prompt]:
        """A prompt for each line."""
        for place, text in lines(self.file):
            if text.lstrip().startswith(b'"'):
                yield make_prompt(place, text=decode(place, text, str))
            else:
                line = decode(place, text, _Line)
                yield make_prompt(place, text=line.prompt, messages=line.messages, max_tokens=line.max_tokens)


class _Line(msgspec.Struct):
    prompt: str | None = None
    messages: tuple[Message, ...] | None = None
    max_tokens: int | None = None
