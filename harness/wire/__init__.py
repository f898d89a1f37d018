"""Endpoints: what a request looks like on the wire and what an answer bears.

An endpoint is one file of this folder with a class ``Wire(Endpoint)``; the file's name is the
endpoint's name in a scenario. Endpoints do no I/O and read no clock.
"""

from __future__ import annotations

import abc
import enum
import importlib
import pkgutil
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from harness.errors import EndpointError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scenarios.request import Arrival


class Kind(enum.Enum):
    """What the tokens of an event are for."""

    ANSWER = "answer"
    REASONING = "reasoning"
    TOOL = "tool"
    REFUSAL = "refusal"
    SILENT = "silent"
    """New token ids without any text yet."""


class Usage(msgspec.Struct, frozen=True):
    """The server's own count, a running total.

    Attributes:
        prompt_tokens: None if not said; likewise all others.
        completion_tokens: Reasoning tokens are inside.
        cached_tokens: Prompt tokens taken from the prefix cache.
        reasoning_tokens: Part of ``completion_tokens``.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None

    def after(self, earlier: Usage | None) -> Usage:
        """This one, with what it doesn't say taken from the one before; nor does 0 take back a count."""
        if earlier is None:
            return self
        if self.completion_tokens or not earlier.completion_tokens:
            completion_tokens, reasoning_tokens = self.completion_tokens, self.reasoning_tokens
        else:
            completion_tokens, reasoning_tokens = earlier.completion_tokens, earlier.reasoning_tokens
        return Usage(
            earlier.prompt_tokens if self.prompt_tokens is None else self.prompt_tokens,
            completion_tokens,
            earlier.cached_tokens if self.cached_tokens is None else self.cached_tokens,
            reasoning_tokens,
        )


class Delta(msgspec.Struct, gc=False):
    """What one event, or one reply in a single piece, bears.

    Attributes:
        kind: What its tokens are for; None if it bears no token.
        text: Of all kinds together.
        num_tokens: Exact number of tokens by token ids or log-probabilities, None where neither came.
        has_token_ids: True where ``num_tokens`` is a count of token ids.
        usage: The server's count so far.
        has_odd_usage: True where what it said of its usage is no count of tokens.
        finish_reason: Set by the event that ends a choice.
        error: The server's message, if the event reports a failure.
        aside: A message in what is of no form of the endpoint's: no choices, no usage.
        has_choices: True where it holds at least one choice, or whatever the endpoint answers with.
        is_last: True where the endpoint's own form says that nothing comes after this event.
    """

    kind: Kind | None = None
    text: str = ""
    num_tokens: int | None = None
    has_token_ids: bool = False
    usage: Usage | None = None
    has_odd_usage: bool = False
    finish_reason: str | None = None
    error: str | None = None
    aside: str | None = None
    has_choices: bool = False
    is_last: bool = False


class WireError(ValueError):
    """An event or a reply that doesn't follow the endpoint's form."""


class Endpoint(abc.ABC):
    """One endpoint of the OpenAI family.

    Attributes:
        path: After the base path, such as ``/chat/completions``.
        streaming: Whether its answers are asked for as streams of tokens.
        end_marks: With which its streams may end, and hardly an event before: a hint where to look closer.
    """

    path: ClassVar[str]
    streaming: ClassVar[bool] = True
    end_marks: ClassVar[tuple[bytes, ...]] = (b"[DONE]\n\n", b"[DONE]\r\n\r\n")

    @abc.abstractmethod
    def body(self, arrival: Arrival, model: str) -> bytes:
        """The JSON body that asks for a stream with usage, or for one reply where there are no streams.

        Raises:
            EndpointError: The endpoint can't carry such a prompt.
        """

    def asked_for(self, sampling: dict[str, Any]) -> Endpoint:  # noqa: ARG002 (for endpoints that mind)
        """The endpoint as it reads answers to requests with these fields."""
        return self

    @abc.abstractmethod
    def decode(self, data: bytes) -> Delta:
        """What an event's data, or a whole reply, bears.

        Raises:
            WireError: It isn't JSON or not of the endpoint's form.
        """

    def decode_many(self, events: list[bytes]) -> Sequence[Delta | str]:
        """What many events bear: for each the same as ``decode`` says, in less time.

        A text stands for an event that bears this text of the answer and nothing else, as most do.

        Args:
            events: The data of each, without a line break in it.

        Raises:
            WireError: They can't be decoded together; ``decode`` says which of them is at fault.
        """
        return [self.decode(data) for data in events]


def endpoint(name: str) -> Endpoint:
    """The endpoint of that name.

    Raises:
        EndpointError: There is no such endpoint.
    """
    if name not in endpoint_names():
        raise EndpointError(f"endpoint '{name}' is unknown; there are {', '.join(endpoint_names())}")
    found = importlib.import_module(f"{__name__}.{name}").Wire()
    assert isinstance(found, Endpoint)
    return found


def endpoint_names() -> list[str]:
    """The names of all endpoints."""
    modules = (importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__))
    return sorted(module.__name__.rpartition(".")[2] for module in modules if hasattr(module, "Wire"))
