"""The JSON of chat and text completions, streamed or whole, as the servers of the field write it.

Known dialects: ``reasoning_content`` and ``reasoning`` (thinking aloud), ``token_ids`` per choice (vLLM),
usage in a chunk of its own, in the last chunk or running in every chunk, ``reasoning_tokens`` in the usage
itself (SGLang), one tool call without a list around it (TGI), errors as an ``error`` object, as a string, as
``{"object": "error"}``, or in a choice (OpenRouter).
"""

from __future__ import annotations

from typing import Any

import msgspec

from harness.wire import Delta, Kind, Usage, WireError
from harness.wire.alike import texts_of_alike
from harness.wire.error_text import error_in, error_text
from harness.wire.finish_reason import worse
from harness.wire.reading import FAULTS, NOT_READ, Count, Reader


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: Any = None


class _ToolCall(msgspec.Struct, gc=False):
    function: _Function | None = None


class _Message(msgspec.Struct, gc=False):
    content: str | list[Any] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | _ToolCall | None = None
    function_call: _Function | None = None


class _Logprobs(msgspec.Struct, gc=False):
    content: list[msgspec.Raw] | None = None
    tokens: list[msgspec.Raw] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Message | None = None
    message: _Message | None = None
    text: str | None = None
    logprobs: _Logprobs | None = None
    token_ids: list[int] | None = None
    finish_reason: str | None = None
    error: Any = None


class _PromptDetails(msgspec.Struct, gc=False):
    cached_tokens: Count | None = None


class _CompletionDetails(msgspec.Struct, gc=False):
    reasoning_tokens: Count | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None
    reasoning_tokens: Count | None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    object: Any = None


class _ChunkWithoutUsage(_Chunk):
    usage: _Usage | None = msgspec.field(default=None, name=NOT_READ)


_reader: Reader[_Chunk] = Reader(_Chunk, _ChunkWithoutUsage)
_decoder = _reader.decoder


def decode(data: bytes) -> Delta:
    """What one event's data, or one whole reply, bears.

    Raises:
        WireError: It is no JSON object of this form.
    """
    chunk, has_odd_usage = _reader.read(data)
    delta = _whole(chunk, data)
    delta.has_odd_usage = has_odd_usage
    return delta


def decode_many(events: list[bytes]) -> list[Delta | str]:
    """What many events bear, none of them with a line break in its data.

    Raises:
        WireError: One of them is no JSON object of this form.
    """
    texts = texts_of_alike(events, _text_of)
    others = [data for data, text in zip(events, texts, strict=True) if text is None]
    borne = iter(_parse_many(others))
    return [next(borne) if text is None else text for text in texts]


def _parse_many(events: list[bytes]) -> list[Delta | str]:
    try:
        chunks = _decoder.decode_lines(b"\n".join(events))
    except FAULTS as error:
        raise WireError(str(error)) from error
    if len(chunks) != len(events):  # no line can hold more than one value, so each holds a whole one
        raise WireError("an event without data, or with a part of a value")
    return [_plain_text(chunk) or _whole(chunk, data) for chunk, data in zip(chunks, events, strict=True)]


def _text_of(data: bytes) -> str | None:
    """The text of an event that bears text of the answer and nothing else; None for any other."""
    try:
        return _plain_text(_decoder.decode(data))
    except FAULTS:
        return None


def _plain_text(chunk: _Chunk) -> str | None:
    choices = chunk.choices
    if choices is None or len(choices) != 1 or chunk.usage is not None:
        return None
    if chunk.error or chunk.object == "error":
        return None
    choice = choices[0]
    text = choice.text if choice.delta is None else choice.delta.content
    if choice.token_ids is not None or choice.logprobs is not None or choice.finish_reason or choice.error:
        return None
    return text if isinstance(text, str) else None


def _whole(chunk: _Chunk, data: bytes) -> Delta:
    delta = Delta()
    if chunk.usage is not None:
        delta.usage = _usage(chunk.usage)
    if chunk.error or chunk.object == "error":
        delta.error = error_text(data)
    elif chunk.choices is None and chunk.usage is None:
        delta.aside = error_in(data)
    for choice in chunk.choices or ():
        delta.has_choices = True
        if choice.finish_reason:
            delta.finish_reason = worse(delta.finish_reason, choice.finish_reason)
        if choice.error and delta.error is None:
            delta.error = error_text(msgspec.json.encode(choice.error))
        _take_tokens(delta, choice)
    return delta


def _take_tokens(delta: Delta, choice: _Choice) -> None:
    """Add what one choice bears. Choices of one event (``n`` > 1) count together."""
    message = choice.delta or choice.message
    kind, text = _spoken(message, choice.text)
    if kind is None and choice.token_ids:
        kind = Kind.SILENT
    if kind is None:
        return
    is_first = delta.kind is None
    delta.kind = kind if delta.kind in (None, Kind.SILENT) else delta.kind
    delta.text += text
    num_tokens = _exact_count(choice)
    if is_first:
        delta.num_tokens, delta.has_token_ids = num_tokens, bool(choice.token_ids)
    elif num_tokens is None or delta.num_tokens is None:
        delta.num_tokens, delta.has_token_ids = None, False
    else:
        delta.num_tokens += num_tokens
        delta.has_token_ids = delta.has_token_ids and bool(choice.token_ids)


def _spoken(message: _Message | None, text: str | None) -> tuple[Kind | None, str]:
    if text:
        return Kind.ANSWER, text
    if message is None:
        return None, ""
    if message.content:
        return Kind.ANSWER, message.content if isinstance(message.content, str) else _joined(message.content)
    if thought := message.reasoning_content or message.reasoning:
        return Kind.REASONING, thought if isinstance(thought, str) else ""
    if message.refusal:
        return Kind.REFUSAL, message.refusal
    if called := _called(message):
        return Kind.TOOL, called
    return None, ""


def _joined(parts: list[Any]) -> str:
    return "".join(
        part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)
    )


def _called(message: _Message) -> str:
    """Names and argument text of tool calls."""
    if message.tool_calls is None and message.function_call is None:
        return ""
    calls = [message.tool_calls] if isinstance(message.tool_calls, _ToolCall) else message.tool_calls or ()
    functions = [call.function for call in calls] + [message.function_call]
    return "".join(f"{each.name or ''}{each.arguments or ''}" for each in functions if each is not None)


def _exact_count(choice: _Choice) -> int | None:
    """Tokens of a choice that bears some; an empty list beside them counts none of them."""
    if choice.token_ids:
        return len(choice.token_ids)
    if choice.logprobs is None:
        return None
    return len(choice.logprobs.content or choice.logprobs.tokens or ()) or None


def _usage(usage: _Usage) -> Usage:
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    return Usage(
        usage.prompt_tokens,
        usage.completion_tokens,
        prompt.cached_tokens if prompt else None,
        usage.reasoning_tokens if completion is None else completion.reasoning_tokens,
    )
