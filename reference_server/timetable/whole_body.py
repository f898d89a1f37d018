"""The answer in one piece, for a client that did not ask for a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from reference_server.timetable.content import TOOL_NAME

if TYPE_CHECKING:
    from reference_server.timetable.content import Content


def whole_body(content: Content) -> bytes:
    """A chat completion or a text completion, with usage."""
    plan, chat = content.plan, content.ask.chat
    choice = {
        "index": 0,
        **(_message(content) if chat else {"text": _answer_text(content)}),
        "logprobs": None,
        "finish_reason": plan.finish_reason,
    }
    envelope = content.envelope("chat.completion" if chat else "text_completion")
    return msgspec.json.encode({**envelope, "choices": [choice], "usage": content.usage(plan.num_sent)})


def _message(content: Content) -> dict[str, Any]:
    script, thoughts = content.script, content.plan.num_thoughts
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    if thoughts:
        message[script.reasoning_field] = content.text(0, thoughts).decode()
    if content.calls_tool:
        message["tool_calls"] = [_tool_call(content)]
    else:
        message["refusal" if script.answer == "refusal" else "content"] = _answer_text(content)
    return {"message": message}


def _tool_call(content: Content) -> dict[str, Any]:
    arguments = msgspec.json.encode({"text": _answer_text(content)}).decode()
    function = {"name": TOOL_NAME, "arguments": arguments}
    return {"id": content.call_id, "type": "function", "function": function}


def _answer_text(content: Content) -> str:
    thoughts = content.plan.num_thoughts
    num_tokens = content.plan.num_sent - thoughts
    return content.text(thoughts, num_tokens).decode() if num_tokens else ""
