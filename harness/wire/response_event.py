"""The JSON of the Responses API: one event of its streams, or one whole reply.

Tokens come in events whose type ends in ``.delta``; a tool's name comes when its output item is added. The
``.done`` events say again what was said and bear nothing. ``response.completed``, ``.incomplete`` and
``.failed`` are the last of a stream and hold the usage, and so is the ``.cancelled`` of servers that have it;
there is no ``[DONE]``, though some servers add one.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from harness.wire import Delta, Kind, Usage
from harness.wire.error_text import error_in, error_text
from harness.wire.reading import NOT_READ, Count, Reader

_KINDS: Final = {
    "response.output_text.delta": Kind.ANSWER,
    "response.reasoning_text.delta": Kind.REASONING,
    "response.reasoning_summary_text.delta": Kind.REASONING,
    "response.refusal.delta": Kind.REFUSAL,
    "response.function_call_arguments.delta": Kind.TOOL,
    "response.custom_tool_call_input.delta": Kind.TOOL,
    "response.mcp_call_arguments.delta": Kind.TOOL,
    "response.code_interpreter_call_code.delta": Kind.TOOL,
}
_LAST: Final = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_WORST_FIRST: Final = ("failed", "cancelled", "incomplete")
_FINISH_REASONS: Final = {"max_output_tokens": "length", None: "incomplete"}


class _InputDetails(msgspec.Struct):
    cached_tokens: Count | None = None


class _OutputDetails(msgspec.Struct):
    reasoning_tokens: Count | None = None


class _Usage(msgspec.Struct):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _Part(msgspec.Struct):
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    type: str | None = None
    name: str | None = None
    arguments: str | None = None
    content: list[_Part] | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    status: str | None = None
    output: list[_Item] | None = None
    usage: _Usage | None = None
    error: Any = None
    incomplete_details: _Incomplete | None = None


class _Event(_Response):
    type: str | None = None
    delta: Any = None
    logprobs: list[msgspec.Raw] | None = None
    item: _Item | None = None
    response: _Response | None = None
    object: Any = None


class _ResponseWithoutUsage(_Response):
    usage: _Usage | None = msgspec.field(default=None, name=NOT_READ)


class _EventWithoutUsage(_Event):
    usage: _Usage | None = msgspec.field(default=None, name=NOT_READ)
    response: _ResponseWithoutUsage | None = None


_reader: Reader[_Event] = Reader(_Event, _EventWithoutUsage)


def decode(data: bytes) -> Delta:
    """What one event's data, or one whole reply, bears.

    Raises:
        WireError: It is no JSON object of this form.
    """
    event, has_odd_usage = _reader.read(data)
    delta = _borne(event, data)
    delta.has_odd_usage = has_odd_usage
    return delta


def _borne(event: _Event, data: bytes) -> Delta:
    kind = _KINDS.get(event.type or "")
    if kind is not None and isinstance(event.delta, str):
        return _tokens(kind, event.delta, event.logprobs)
    if event.type == "response.output_item.added":
        return _added(event.item)
    if event.type == "error" or event.object == "error" or (event.type is None and event.error):
        return Delta(error=error_text(data))
    if event.object == "response":
        return _reply(event)
    if event.response is not None or event.type in _LAST:
        return _state(event.type, event.response or _Response())
    return Delta(aside=error_in(data) if event.type is None else None)


def _tokens(kind: Kind, text: str, logprobs: list[msgspec.Raw] | None) -> Delta:
    if not text:
        return Delta(has_choices=True)
    return Delta(kind, text, num_tokens=len(logprobs) if logprobs else None, has_choices=True)


def _added(item: _Item | None) -> Delta:
    if item is None or not item.name:
        return Delta(has_choices=item is not None)
    return Delta(Kind.TOOL, item.name, has_choices=True)


def _state(event_type: str | None, response: _Response) -> Delta:
    """What the response as a whole says: its usage always, how it ended in the last event of a stream."""
    delta = Delta(usage=None if response.usage is None else _usage(response.usage))
    if event_type in _LAST:
        delta.is_last = delta.has_choices = True
        _end(delta, response, event_type.removeprefix("response."))
    elif response.error:
        delta.aside = error_text(msgspec.json.encode(response.error))
    return delta


def _end(delta: Delta, response: _Response, said: str) -> None:
    """How it ended: by the event's name and by the response's own status, whichever is worse."""
    status = next((each for each in _WORST_FIRST if each in (said, response.status)), said)
    if response.error:
        delta.error = error_text(msgspec.json.encode(response.error))
    elif status == "failed":
        delta.error = "the response failed, without a message"
    elif status == "incomplete":
        reason = response.incomplete_details.reason if response.incomplete_details else None
        delta.finish_reason = _FINISH_REASONS.get(reason, reason)
    else:
        delta.finish_reason = "stop" if status == "completed" else status


def _reply(response: _Response) -> Delta:
    delta = Delta(usage=None if response.usage is None else _usage(response.usage))
    delta.has_choices = bool(response.output)
    delta.text = "".join(_text(item) for item in response.output or ())
    delta.kind = Kind.ANSWER if delta.text else None
    _end(delta, response, response.status or "completed")
    return delta


def _text(item: _Item) -> str:
    parts = item.content or ()
    return f"{item.name or ''}{item.arguments or ''}" + "".join(
        part.text or part.refusal or "" for part in parts
    )


def _usage(usage: _Usage) -> Usage:
    given, made = usage.input_tokens_details, usage.output_tokens_details
    return Usage(
        usage.input_tokens,
        usage.output_tokens,
        given.cached_tokens if given else None,
        made.reasoning_tokens if made else None,
    )
