"""One request as the scenario wants it, before any endpoint has put it into JSON."""

from __future__ import annotations

from typing import Any

import msgspec


class Message(msgspec.Struct, frozen=True):
    """One turn of a conversation.

    Attributes:
        role: ``system``, ``user`` or ``assistant``.
        content: The text of the turn.
    """

    role: str
    content: str


class FollowUp(msgspec.Struct, frozen=True, kw_only=True):
    """A later turn of a conversation, as its source has it.

    Attributes:
        added: What is said after the answer of the turn before: one user turn, or results of tools.
        answer: What stands in the history for that answer; None for what the server really said.
        think_ns: Time from the end of that answer to this turn, where the source has it.
        max_tokens: As in ``Prompt``.
    """

    added: tuple[Message, ...]
    answer: str | None = None
    think_ns: int | None = None
    max_tokens: int | None = None


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, independent of the endpoint that carries it.

    Exactly one of ``text``, ``messages`` and ``token_ids`` is set.

    Attributes:
        text: A plain prompt. A chat endpoint sends it as one user turn.
        messages: A conversation, for chat endpoints.
        token_ids: A prompt already in tokens, for the completions endpoint.
        num_tokens: Length in tokens if the source knows it, else None.
        max_tokens: Output limit asked for by the prompt's source (a data set's own reply
            length), else None: the scenario's sampling section decides.
        own_fields: Other body fields that the prompt's source asks for, as a JSON object; empty for none.
            Those of the sampling section win.
        follow_ups: The later turns, where this is the beginning of a conversation.
    """

    text: str | None = None
    messages: tuple[Message, ...] | None = None
    token_ids: tuple[int, ...] | None = None
    num_tokens: int | None = None
    max_tokens: int | None = None
    own_fields: str = ""
    follow_ups: tuple[FollowUp, ...] = ()

    @property
    def fields(self) -> dict[str, Any]:
        """``own_fields`` as a mapping."""
        return msgspec.json.decode(self.own_fields, type=dict[str, Any]) if self.own_fields else {}


class LaterTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that is sent when the answer of the turn before is in.

    Attributes:
        index: As in ``Arrival``.
        follow_up: What is said.
        think_ns: Due so long after the end of that answer.
        sampling: As in ``Arrival``.
        cancel_after_ns: Likewise.
    """

    index: int
    follow_up: FollowUp
    think_ns: int
    sampling: dict[str, Any]
    cancel_after_ns: int | None = None


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a schedule.

    Attributes:
        index: Position in the schedule, from 0; the turns of a conversation have neighbouring ones.
        due_ns: When it is to be sent, ns after the start of the run. None in a closed loop, where a
            request is due when its slot becomes free.
        prompt: What is asked.
        sampling: Extra body fields (``max_tokens``, ``temperature``, ``ignore_eos``, ...), merged
            over the endpoint's defaults.
        cancel_after_ns: The client gives the request up so long after its sending; None to wait.
        conversation: Number of the conversation it belongs to, from 0; None for a request by itself.
        turn: Its number among the turns of that conversation, from 1.
        later: The turns after it.
    """

    index: int
    due_ns: int | None
    prompt: Prompt
    sampling: dict[str, Any]
    cancel_after_ns: int | None = None
    conversation: int | None = None
    turn: int = 1
    later: tuple[LaterTurn, ...] = ()

    @property
    def num_turns(self) -> int:
        """Planned turns of its conversation."""
        return self.turn + len(self.later)

    @property
    def partition_key(self) -> int:
        """What is sent together has the same key: turns of one conversation can't be parted."""
        return self.index if self.conversation is None else self.conversation
