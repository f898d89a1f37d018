"""What an answer says, whatever the form: its id, its words, its usage."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from reference_server.timetable.plan import Plan
    from reference_server.timetable.script import Script
    from reference_server.timetable.words import Vocabulary

TOOL_NAME: Final = "recite"


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


class Content:
    """The content of one answer.

    Args:
        ask: The form asked for.
        script: The form scripted.
        plan: What happens to this request.
        vocabulary: Where the words come from.
        number: Makes the answer's id unique.
    """

    def __init__(self, ask: Ask, script: Script, plan: Plan, vocabulary: Vocabulary, number: int) -> None:
        self.ask, self.script, self.plan = ask, script, plan
        self._vocabulary = vocabulary
        self._created = int(time.time())
        self.id = f"{'chatcmpl' if ask.chat else 'cmpl'}-{number:016x}"
        self.calls_tool = ask.chat and script.answer == "tool_call"
        self.call_id = f"call-{self.id}"

    def envelope(self, kind: str) -> dict[str, Any]:
        """The fields that every object of the answer begins with."""
        return {"id": self.id, "object": kind, "created": self._created, "model": self.ask.model}

    def text(self, position: int, num_tokens: int) -> bytes:
        """The words from ``position`` (from 0) on; thoughts and answer begin without a space."""
        text = self.words(position, num_tokens)
        return text[1:] if position in (0, self.plan.num_thoughts) else text

    def words(self, position: int, num_tokens: int) -> bytes:
        """The same, each with its space."""
        return self._vocabulary.text(self.plan.text_offset + position, num_tokens)

    def token_ids(self, position: int, num_tokens: int) -> list[int]:
        """The ids of the same tokens."""
        return self._vocabulary.ids(self.plan.text_offset + position, num_tokens)

    def usage(self, num_tokens: int) -> dict[str, Any]:
        """The usage object after so many tokens."""
        prompt = self.ask.num_prompt_tokens
        usage: dict[str, Any] = {
            "prompt_tokens": prompt,
            "completion_tokens": num_tokens,
            "total_tokens": prompt + num_tokens,
        }
        if self.script.reasoning_tokens:
            thoughts = min(num_tokens, self.plan.num_thoughts)
            usage["completion_tokens_details"] = {"reasoning_tokens": thoughts}
        return usage
