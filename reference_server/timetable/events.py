"""The events of a streamed answer, as much of them as can be rendered before the first token is due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from reference_server.timetable.content import TOOL_NAME
from reference_server.timetable.faults import ERROR_IN_STREAM

if TYPE_CHECKING:
    from reference_server.timetable.content import Content

_LINE_ENDS: Final = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r"}
_ROLE_CONTENT: Final = {"empty": b',"content":""', "null": b',"content":null', "absent": b""}


class Voice(NamedTuple):
    """An event but for the text of its tokens.

    Attributes:
        before: Up to the text.
        after: From the text to the end of the delta.
        plain_end: From the text to the end of an event that is like most.
    """

    before: bytes
    after: bytes
    plain_end: bytes


class Events:
    """Renders the events of one answer.

    Args:
        content: What it says.

    Attributes:
        answer: What most events of the answer look like.
    """

    def __init__(self, content: Content) -> None:
        ask, script, self._content = content.ask, content.script, content
        self._plan = content.plan
        self._field = b"data: " if script.space else b"data:"
        self._end = _LINE_ENDS[script.line_end] * 2
        envelope = content.envelope("chat.completion.chunk" if ask.chat else "text_completion")
        self._head = self._field + msgspec.json.encode(envelope)[:-1] + b',"choices":['
        self._varies = ask.token_ids or ask.running_usage or content.calls_tool
        self.answer = self._voice("refusal" if script.answer == "refusal" else "content")
        self._thought = self._voice(script.reasoning_field)

    def role(self) -> bytes:
        """The chat event that names the assistant and bears no token."""
        delta = b'{"role":"assistant"' + _ROLE_CONTENT[self._content.script.role_content] + b"}"
        return self._head + b'{"index":0,"delta":' + delta + self._tail(0, 0, None)

    def tokens(self, position: int, num_tokens: int, *, last: bool) -> bytes:
        """The event that bears so many tokens from ``position`` (from 0) on."""
        voice = self._thought if position < self._plan.num_thoughts else self.answer
        if last or self._varies:
            return self._unlike_most(voice, position, num_tokens, last=last)
        return voice.before + self._content.text(position, num_tokens) + voice.plain_end

    def finish(self) -> bytes:
        """An event that bears a finish_reason and no token."""
        before = b'{"index":0,"delta":{}' if self._content.ask.chat else b'{"index":0,"text":""'
        return self._head + before + self._tail(self._plan.num_sent, 0, self._plan.finish_reason)

    def usage(self) -> bytes:
        """The event without choices."""
        usage = msgspec.json.encode(self._content.usage(self._plan.num_sent))
        return self._head + b'],"usage":' + usage + b"}" + self._end

    def done(self) -> bytes:
        """``[DONE]``."""
        return self._field + b"[DONE]" + self._end

    def error(self) -> bytes:
        """The engine broke after the response head was sent."""
        return self._field + ERROR_IN_STREAM + self._end

    def comment(self) -> bytes:
        """A line that keeps the connection alive and means nothing."""
        return b": keep-alive" + self._end

    def _voice(self, field: str) -> Voice:
        before, after = b'{"index":0,"text":"', b'"'
        if self._content.ask.chat:
            before, after = b'{"index":0,"delta":{"' + field.encode() + b'":"', b'"}'
        plain_end = after + b',"logprobs":null,"finish_reason":null}]}' + self._end
        return Voice(self._head + before, after, plain_end)

    def _unlike_most(self, voice: Voice, position: int, num_tokens: int, *, last: bool) -> bytes:
        tail = self._tail(position, num_tokens, self._plan.finish_reason if last else None)
        if voice is self.answer and self._content.calls_tool:
            return self._head + self._tool_call(position, num_tokens) + tail
        return voice.before + self._content.text(position, num_tokens) + voice.after + tail

    def _tail(self, position: int, num_tokens: int, reason: str | None) -> bytes:
        """The end of an event, from logprobs on."""
        choice = b',"logprobs":null,"finish_reason":' + msgspec.json.encode(reason)
        if reason is not None:
            choice += b',"stop_reason":null'
        if self._content.ask.token_ids:
            choice += b',"token_ids":' + msgspec.json.encode(self._content.token_ids(position, num_tokens))
        usage = b""
        if self._content.ask.running_usage:
            usage = b',"usage":' + msgspec.json.encode(self._content.usage(position + num_tokens))
        return choice + b"}]" + usage + b"}" + self._end

    def _tool_call(self, position: int, num_tokens: int) -> bytes:
        """The first token is the function's name, the others are its arguments, valid JSON in the end."""
        opening, name, text, spoken = b"", b"", b"", num_tokens
        if position == self._plan.num_thoughts:
            opening = b'"id":"' + self._content.call_id.encode() + b'","type":"function",'
            name, text, spoken = b'"name":"' + TOOL_NAME.encode() + b'",', b'{\\"text\\":\\"', num_tokens - 1
        if spoken:
            text += self._content.words(position + num_tokens - spoken, spoken)
        if position + num_tokens == self._plan.num_tokens:
            text += b'\\"}'
        function = b'"function":{' + name + b'"arguments":"' + text + b'"}'
        return b'{"index":0,"delta":{"tool_calls":[{"index":0,' + opening + function + b"}]}"
