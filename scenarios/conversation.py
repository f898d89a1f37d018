"""How a conversation goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from scenarios.request import Arrival, Message, Prompt

if TYPE_CHECKING:
    from collections.abc import Iterable


def next_turn(arrival: Arrival, answer: str) -> Arrival:
    """The turn after ``arrival``; its history ends with ``answer``, or with what the source put there.

    Its ``due_ns`` is None: it counts from the end of an answer, which no schedule knows.

    Args:
        arrival: A turn that has a later one.
        answer: What the server said to it, without what it thought aloud.
    """
    turn, *rest = arrival.later
    said = answer if turn.follow_up.answer is None else turn.follow_up.answer
    messages = (*history(arrival.prompt), Message("assistant", said), *turn.follow_up.added)
    return Arrival(
        index=turn.index,
        due_ns=None,
        prompt=Prompt(messages=messages, max_tokens=turn.follow_up.max_tokens),
        sampling=turn.sampling,
        cancel_after_ns=turn.cancel_after_ns,
        conversation=arrival.conversation,
        turn=arrival.turn + 1,
        later=tuple(rest),
    )


def history(prompt: Prompt) -> tuple[Message, ...]:
    """A prompt as messages."""
    return (Message("user", prompt.text or ""),) if prompt.messages is None else prompt.messages


def shortened(arrival: Arrival, num_requests: int) -> Arrival:
    """The first ``num_requests`` turns of a conversation."""
    return structs.replace(arrival, later=arrival.later[: num_requests - 1])


def num_requests(prompts: Iterable[Prompt]) -> int:
    """Requests that prompts make, all turns counted."""
    return sum(1 + len(prompt.follow_ups) for prompt in prompts)
