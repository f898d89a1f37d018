"""The JSON of an answer, all of it that can be rendered before the first token is due."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from reference_server.timetable.faults import ERROR_IN_STREAM

if TYPE_CHECKING:
    from reference_server.timetable.plan import Plan
    from reference_server.timetable.script import Script
    from reference_server.timetable.words import Vocabulary

TOOL_NAME: Final = "recite"
_LINE_ENDS: Final = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r"}


class Ask(NamedTuple):
    """What the client's request says about the form of its answer.

    Attributes:
        chat: Chat, not completions.
        model: Echoed.
        num_prompt_tokens: For usage.
        usage: A usage event is sent.
        running_usage: Every event carries the usage so far.
        token_ids: Every event carries its token ids.
    """

    chat: bool
    model: str
    num_prompt_tokens: int
    usage: bool
    running_usage: bool
    token_ids: bool


class _Voice(NamedTuple):
    """What stands before and after the text of a token in a choice."""

    before: bytes
    after: bytes


class Rendering:
    """Renders one answer.

    Args:
        ask: The form asked for.
        script: The form scripted.
        plan: What happens to this request.
        vocabulary: Where the words come from.
        number: Makes the answer's id unique.
    """

    def __init__(self, ask: Ask, script: Script, plan: Plan, vocabulary: Vocabulary, number: int) -> None:
        self._ask, self._script, self._plan, self._vocabulary = ask, script, plan, vocabulary
        self._created = int(time.time())
        self._id = f"{'chatcmpl' if ask.chat else 'cmpl'}-{number:016x}"
        self._field = b"data: " if script.space else b"data:"
        self._line_end = _LINE_ENDS[script.line_end]
        self._event_end = self._line_end * 2
        envelope = self._envelope("chat.completion.chunk" if ask.chat else "text_completion")
        self._head = self._field + msgspec.json.encode(envelope)[:-1] + b',"choices":['
        self._plain_tail = b',"logprobs":null,"finish_reason":null}]}' + self._event_end
        self._varying = ask.token_ids or ask.running_usage
        self._answer_voice = _voice(ask, script)
        self._thought_voice = _delta_voice(script.reasoning_field) if ask.chat else self._answer_voice

    def role_event(self) -> bytes:
        """The chat event that names the assistant and bears no token."""
        content = {"empty": b',"content":""', "null": b',"content":null', "absent": b""}
        delta = b'{"role":"assistant"' + content[self._script.role_content] + b"}"
        return self._head + b'{"index":0,"delta":' + delta + self._tail(0, 0, None)

    def token_event(self, position: int, num_tokens: int, *, last: bool) -> bytes:
        """The event that bears so many tokens from ``position`` (from 0) on."""
        reason = self._plan.finish_reason if last else None
        if self._script.answer == "tool_call" and self._ask.chat and position >= self._num_thoughts:
            before, text, after = self._tool_call(position, num_tokens)
        else:
            before, after = self._thought_voice if position < self._num_thoughts else self._answer_voice
            text = self._text(position, num_tokens)
        tail = self._tail(position, num_tokens, reason) if self._varying or last else self._plain_tail
        return b"".join((self._head, before, text, after, tail))

    def finish_event(self) -> bytes:
        """An event that bears a finish_reason and no token."""
        before = b'{"index":0,"delta":{}' if self._ask.chat else b'{"index":0,"text":""'
        return self._head + before + self._tail(self._plan.num_sent, 0, self._plan.finish_reason)

    def usage_event(self) -> bytes:
        """The event without choices."""
        usage = msgspec.json.encode(self.usage(self._plan.num_sent))
        return self._head + b'],"usage":' + usage + b"}" + self._event_end

    def done_event(self) -> bytes:
        """``[DONE]``."""
        return self._field + b"[DONE]" + self._event_end

    def error_event(self) -> bytes:
        """The engine broke after the response head was sent."""
        return self._field + ERROR_IN_STREAM + self._event_end

    def comment(self) -> bytes:
        """A line that keeps the connection alive and means nothing."""
        return b": keep-alive" + self._event_end

    def usage(self, num_tokens: int) -> dict[str, Any]:
        """The usage object after so many tokens."""
        prompt = self._ask.num_prompt_tokens
        usage: dict[str, Any] = {
            "prompt_tokens": prompt,
            "completion_tokens": num_tokens,
            "total_tokens": prompt + num_tokens,
        }
        if self._script.reasoning_tokens:
            thoughts = min(num_tokens, self._num_thoughts)
            usage["completion_tokens_details"] = {"reasoning_tokens": thoughts}
        return usage

    def whole_body(self) -> bytes:
        """The answer in one piece, for a client that did not ask for a stream."""
        answer = self._envelope("chat.completion" if self._ask.chat else "text_completion")
        choice = {
            "index": 0,
            **self._whole_choice(),
            "logprobs": None,
            "finish_reason": self._plan.finish_reason,
        }
        return msgspec.json.encode({**answer, "choices": [choice], "usage": self.usage(self._plan.num_sent)})

    @property
    def _num_thoughts(self) -> int:
        return min(self._script.reasoning_tokens, self._plan.num_sent)

    def _envelope(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._ask.model}

    def _text(self, position: int, num_tokens: int) -> bytes:
        text = self._vocabulary.text(self._plan.text_offset + position, num_tokens)
        return text if position and position != self._num_thoughts else text[1:]

    def _tail(self, position: int, num_tokens: int, reason: str | None) -> bytes:
        """The end of an event, from logprobs on."""
        choice = b',"logprobs":null,"finish_reason":' + msgspec.json.encode(reason)
        if reason is not None:
            choice += b',"stop_reason":null'
        if self._ask.token_ids:
            ids = self._vocabulary.ids(self._plan.text_offset + position, num_tokens)
            choice += b',"token_ids":' + msgspec.json.encode(ids)
        event = b"}]"
        if self._ask.running_usage:
            event += b',"usage":' + msgspec.json.encode(self.usage(position + num_tokens))
        return choice + event + b"}" + self._event_end

    def _tool_call(self, position: int, num_tokens: int) -> tuple[bytes, bytes, bytes]:
        """The first token is the function's name, the others are its arguments, valid JSON in the end."""
        first, last = position == self._num_thoughts, position + num_tokens >= self._plan.num_tokens
        opening = b""
        if first:
            opening = b'"id":"call-' + self._id.encode() + b'","type":"function",'
        name = b'"name":"' + TOOL_NAME.encode() + b'",' if first else b""
        before = b'{"index":0,"delta":{"tool_calls":[{"index":0,' + opening + b'"function":{' + name
        text = b'{\\"text\\":\\"' if first else b""
        spoken = num_tokens - 1 if first else num_tokens
        if spoken:
            text += self._vocabulary.text(self._plan.text_offset + position, spoken)
        if last:
            text += b'\\"}'
        return before + b'"arguments":"', text, b'"}}]}'

    def _whole_choice(self) -> dict[str, Any]:
        thoughts, num_tokens = self._num_thoughts, self._plan.num_sent
        text = self._text(thoughts, num_tokens - thoughts).decode() if num_tokens > thoughts else ""
        if not self._ask.chat:
            return {"text": text}
        message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
        if thoughts:
            message[self._script.reasoning_field] = self._text(0, thoughts).decode()
        message.update(self._whole_answer(text))
        return {"message": message}

    def _whole_answer(self, text: str) -> dict[str, Any]:
        if self._script.answer == "tool_call":
            arguments = msgspec.json.encode({"text": text}).decode()
            function = {"name": TOOL_NAME, "arguments": arguments}
            return {"tool_calls": [{"id": f"call-{self._id}", "type": "function", "function": function}]}
        return {"refusal": text} if self._script.answer == "refusal" else {"content": text}


def _voice(ask: Ask, script: Script) -> _Voice:
    if not ask.chat:
        return _Voice(b'{"index":0,"text":"', b'"')
    return _delta_voice("refusal" if script.answer == "refusal" else "content")


def _delta_voice(field: str) -> _Voice:
    return _Voice(b'{"index":0,"delta":{"' + field.encode() + b'":"', b'"}')
