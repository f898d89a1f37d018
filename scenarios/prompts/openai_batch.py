"""Prompts from an input file of OpenAI's batch API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from pydantic import Field

from scenarios.errors import ScenarioError
from scenarios.files import DataFile
from scenarios.prompt_files import PromptFile, decode, lines, make_prompt
from scenarios.request import Message, Prompt

if TYPE_CHECKING:
    from collections.abc import Iterator


class OpenaiBatch(PromptFile):
    """Each line is ``{"custom_id", "method", "url", "body"}``.

    Taken from the body: ``messages`` or ``prompt``, and ``max_completion_tokens`` or ``max_tokens`` as that
    request's output limit. Model and sampling are those of the scenario.
    """

    file: DataFile = Field(examples=["batch.jsonl"])

    def read(self) -> Iterator[Prompt]:
        """A prompt for each line."""
        for place, text in lines(self.file):
            body = decode(place, text, _Line).body
            messages = None if body.messages is None else tuple(_message(place, m) for m in body.messages)
            limit = body.max_completion_tokens or body.max_tokens
            yield make_prompt(place, text=body.prompt, messages=messages, max_tokens=limit)


class _Part(msgspec.Struct):
    type: str
    text: str = ""


class _Message(msgspec.Struct):
    role: str
    content: str | tuple[_Part, ...]


class _Body(msgspec.Struct):
    prompt: str | None = None
    messages: tuple[_Message, ...] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None


class _Line(msgspec.Struct):
    body: _Body


def _message(place: str, message: _Message) -> Message:
    if isinstance(message.content, str):
        return Message(message.role, message.content)
    for part in message.content:
        if part.type != "text":
            raise ScenarioError(f"{place}: content of type '{part.type}'; only text can be sent")
    return Message(message.role, "".join(part.text for part in message.content))
