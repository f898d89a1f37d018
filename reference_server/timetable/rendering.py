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
    """An event but for the text of its tokens.

    Attributes:
        before: Up to the text.
        after: From the text to the end of the delta.
        plain_end: From the text to the end of an event that is like most.
    """

    before: bytes
    after: bytes
    plain_end: bytes


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
        self._offset = plan.text_offset
        self._first_positions = (0, plan.num_thoughts)
        self._calls_tool = ask.chat and script.answer == "tool_call"
        self._varies = ask.token_ids or ask.running_usage or self._calls_tool
        self._answer = self._voice("refusal" if script.answer == "refusal" else "content")
        self._thought = self._voice(script.reasoning_field)

    def role_event(self) -> bytes:
        """The chat event that names the assistant and bears no token."""
        content = {"empty": b',"content":""', "null": b',"content":null', "absent": b""}
        delta = b'{"role":"assistant"' + content[self._script.role_content] + b"}"
        return self._head + b'{"index":0,"delta":' + delta + self._tail(0, 0, None)

    def token_event(self, position: int, num_tokens: int, *, last: bool) -> bytes:
        """The event that bears so many tokens from ``position`` (from 0) on."""
        voice = self._thought if position < self._plan.num_thoughts else self._answer
        if last or self._varies:
            return self._rare_event(voice, position, num_tokens, last=last)
        if position in self._first_positions:
            return voice.before + self._text(position, num_tokens) + voice.plain_end
        return voice.before + self._vocabulary.text(self._offset + position, num_tokens) + voice.plain_end

    def _rare_event(self, voice: _Voice, position: int, num_tokens: int, *, last: bool) -> bytes:
        reason = self._plan.finish_reason if last else None
        tail = self._tail(position, num_tokens, reason)
        if voice is self._answer and self._calls_tool:
            return self._head + self._tool_call(position, num_tokens) + tail
        return voice.before + self._text(position, num_tokens) + voice.after + tail

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
            thoughts = min(num_tokens, self._plan.num_thoughts)
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

    def _envelope(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._ask.model}

    def _voice(self, field: str) -> _Voice:
        before, after = b'{"index":0,"text":"', b'"'
        if self._ask.chat:
            before, after = b'{"index":0,"delta":{"' + field.encode() + b'":"', b'"}'
        plain_tail = b',"logprobs":null,"finish_reason":null}]}' + self._event_end
        return _Voice(self._head + before, after, after + plain_tail)

    def _text(self, position: int, num_tokens: int) -> bytes:
        text = self._vocabulary.text(self._offset + position, num_tokens)
        return text[1:] if position in self._first_positions else text

    def _tail(self, position: int, num_tokens: int, reason: str | None) -> bytes:
        """The end of an event, from logprobs on."""
        choice = b',"logprobs":null,"finish_reason":' + msgspec.json.encode(reason)
        if reason is not None:
            choice += b',"stop_reason":null'
        if self._ask.token_ids:
            ids = self._vocabulary.ids(self._offset + position, num_tokens)
            choice += b',"token_ids":' + msgspec.json.encode(ids)
        event = b"}]"
        if self._ask.running_usage:
            event += b',"usage":' + msgspec.json.encode(self.usage(position + num_tokens))
        return choice + event + b"}" + self._event_end

    def _tool_call(self, position: int, num_tokens: int) -> bytes:
        """The first token is the function's name, the others are its arguments, valid JSON in the end."""
        begins, spoken = b"", num_tokens
        text = b""
        if position == self._plan.num_thoughts:
            call_id = f'"id":"call-{self._id}","type":"function",'
            begins, spoken = call_id.encode(), num_tokens - 1
            text = b'{\\"text\\":\\"'
        if spoken:
            text += self._vocabulary.text(self._offset + position + num_tokens - spoken, spoken)
        if position + num_tokens == self._plan.num_tokens:
            text += b'\\"}'
        name = b'"name":"' + TOOL_NAME.encode() + b'",' if begins else b""
        function = b'"function":{' + name + b'"arguments":"' + text + b'"}'
        return b'{"index":0,"delta":{"tool_calls":[{"index":0,' + begins + function + b"}]}"

    def _whole_choice(self) -> dict[str, Any]:
        thoughts, num_tokens = self._plan.num_thoughts, self._plan.num_sent
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
