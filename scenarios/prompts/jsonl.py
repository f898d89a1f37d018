"""Prompts from a file with one JSON value a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from scenarios.json_files import decode, lines
from scenarios.message_keys import check_keys
from scenarios.prompt_files import FileContents, PromptFile, make_prompt
from scenarios.request import Message, Prompt
from scenarios.tally import Tally

if TYPE_CHECKING:
    from scenarios.tokenizers import TokenCounter


class Jsonl(PromptFile):
    """Each line is ``{"prompt": "..."}``, ``{"messages": [{"role", "content"}]}`` or a plain string.

    ``max_tokens`` beside it is that request's output limit; other keys aren't read, and counted in the notes.
    Blank lines are skipped.
    """

    def read(self, counter: TokenCounter | None) -> FileContents:
        """A prompt for each line."""
        del counter
        tally = Tally()
        prompts = [_prompt(place, text, tally) for place, text in lines(self.file)]
        return FileContents(prompts, tally.notes(self.file.name))


def _prompt(place: str, text: bytes, tally: Tally) -> Prompt:
    if text.lstrip().startswith(b'"'):
        return make_prompt(place, text=decode(place, text, str))
    line = decode(place, text, _Line)
    written = decode(place, text, dict[str, Any])
    for key in written.keys() - set(_Line.__struct_fields__):
        tally.add(f"lines with the key {key!r}, which isn't read")
    check_keys(place, written.get("messages") or (), tally)
    return make_prompt(place, text=line.prompt, messages=line.messages, max_tokens=line.max_tokens)


class _Line(msgspec.Struct):
    prompt: str | None = None
    messages: tuple[Message, ...] | None = None
    max_tokens: int | None = None
