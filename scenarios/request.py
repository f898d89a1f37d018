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
    """

    text: str | None = None
    messages: tuple[Message, ...] | None = None
    token_ids: tuple[int, ...] | None = None
    num_tokens: int | None = None
    max_tokens: int | None = None


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a schedule.

    Attributes:
        index: Position in the schedule, from 0.
        due_ns: When it is to be sent, ns after the start of the run. None in a closed loop, where a
            request is due when its slot becomes free.
        prompt: What is asked.
        sampling: Extra body fields (``max_tokens``, ``temperature``, ``ignore_eos``, ...), merged
            over the endpoint's defaults.
        cancel_after_ns: The client gives the request up so long after its sending; None to wait.
    """

    index: int
    due_ns: int | None
    prompt: Prompt
    sampling: dict[str, Any]
    cancel_after_ns: int | None = None
