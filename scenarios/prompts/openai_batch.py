"""Prompts from an input file of OpenAI's batch API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from pydantic import Field

from scenarios.errors import ScenarioError
from scenarios.files import DataFile
from scenarios.json_files import decode, lines
from scenarios.message_keys import check_keys
from scenarios.prompt_files import FileContents, PromptFile, make_prompt
from scenarios.request import Message, Prompt
from scenarios.tally import Tally

if TYPE_CHECKING:
    from scenarios.tokenizers import TokenCounter


class OpenaiBatch(PromptFile):
    """Each line is ``{"custom_id", "method", "url", "body"}``, of chat completions or of text completions.

    Each request is sent with the fields of its body, ``max_completion_tokens`` as ``max_tokens``; those that
    the scenario's ``sampling`` states win. Model and streaming are the run's own.
    """

    file: DataFile = Field(examples=["batch.jsonl"])

    def read(self, counter: TokenCounter | None) -> FileContents:
        """A prompt for each line."""
        del counter
        tally, endpoints, prompts = Tally(), set[str](), []
        for place, text in lines(self.file):
            line = decode(place, text, _Line)
            body = decode(place, text, _Whole).body
            if line.url is not None:
                endpoints.add(_endpoint(place, line))
            if len(endpoints) > 1:
                raise ScenarioError(f"{place}: url '{line.url}' is not that before; a batch has one endpoint")
            prompts.append(_prompt(place, line.body, body, tally))
        return FileContents(prompts, tally.notes(self.file.name, len(prompts)), next(iter(endpoints), None))


def _endpoint(place: str, line: _Line) -> str:
    url = line.url or ""
    if url not in _ENDPOINTS:
        raise ScenarioError(f"{place}: url '{url}'; only {' and '.join(_ENDPOINTS)} can be sent")
    endpoint, key = _ENDPOINTS[url]
    if getattr(line.body, key) is None:
        raise ScenarioError(f"{place}: {url} needs '{key}' in the body")
    return endpoint


def _prompt(place: str, body: _Body, written: dict[str, Any], tally: Tally) -> Prompt:
    messages = None if body.messages is None else tuple(_message(place, each) for each in body.messages)
    check_keys(place, written.get("messages") or (), tally)
    for key, why in _NOT_SENT.items():
        if key in written and written[key] != _ALREADY_SO.get(key):
            tally.add(f"requests whose {key} isn't sent, {why}")
    limits = (body.max_completion_tokens, body.max_tokens)
    return make_prompt(
        place,
        text=body.prompt,
        messages=messages,
        max_tokens=next((each for each in limits if each is not None), None),
        fields={key: each for key, each in written.items() if key not in _READ and each is not None},
    )


_ENDPOINTS: Final = {
    "/v1/chat/completions": ("chat", "messages"),
    "/v1/completions": ("completions", "prompt"),
}
"""By url: the endpoint and the key that holds its prompt."""
_NOT_SENT: Final = {
    "model": "the run's own being asked",
    "stream": "all being streamed",
    "stream_options": "usage being asked for always",
}
_ALREADY_SO: Final = {"stream": True, "stream_options": {"include_usage": True}}
_READ: Final = {"messages", "prompt", "max_tokens", "max_completion_tokens", *_NOT_SENT}


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
    url: str | None = None


class _Whole(msgspec.Struct):
    body: dict[str, Any]


def _message(place: str, message: _Message) -> Message:
    if isinstance(message.content, str):
        return Message(message.role, message.content)
    for part in message.content:
        if part.type != "text":
            raise ScenarioError(f"{place}: content of type '{part.type}'; only text can be sent")
    return Message(message.role, "".join(part.text for part in message.content))
