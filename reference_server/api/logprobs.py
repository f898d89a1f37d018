"""Log-probabilities in the two forms that clients know: chat's and text completion's."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from reference_server.engine.request import TokenLogprob

FLOOR = -9999.0
"""Stands for minus infinity, which JSON can't say."""


@dataclasses.dataclass(slots=True)
class PlacedLogprob:
    """The log-probability of an output token, and where its text begins in the output, in characters."""

    logprob: TokenLogprob
    offset: int


@dataclasses.dataclass(frozen=True, slots=True)
class TokenNames:
    """How tokens are called.

    Attributes:
        text_of: The text of a token alone.
        bytes_of: Its bytes, which may be part of a character.
        as_ids: Call them ``token_id:<id>``, where one text may belong to several tokens.
    """

    text_of: Callable[[int], str]
    bytes_of: Callable[[int], bytes]
    as_ids: bool = False

    def name(self, token_id: int) -> str:
        """The token's name."""
        return f"token_id:{token_id}" if self.as_ids else self.text_of(token_id)


def chat_logprobs(entries: Iterable[PlacedLogprob], names: TokenNames) -> dict[str, Any]:
    """Chat's form: an entry per token with its alternatives inside."""
    return {"content": [_chat_token(entry.logprob, names) for entry in entries]}


def completion_logprobs(entries: Sequence[PlacedLogprob], names: TokenNames) -> dict[str, Any]:
    """Text completion's form: parallel lists."""
    return {
        "text_offset": [entry.offset for entry in entries],
        "token_logprobs": [finite(entry.logprob.logprob) for entry in entries],
        "tokens": [names.name(entry.logprob.token_id) for entry in entries],
        "top_logprobs": [_alternatives(entry.logprob, names) for entry in entries],
    }


def finite(logprob: float) -> float:
    """``logprob``, or the floor where it is minus infinity or no number."""
    return FLOOR if math.isnan(logprob) else max(FLOOR, logprob)


def _alternatives(entry: TokenLogprob, names: TokenNames) -> dict[str, float]:
    pairs = [*entry.top, (entry.token_id, entry.logprob)]
    return {names.name(token_id): finite(logprob) for token_id, logprob in pairs}


def _chat_token(entry: TokenLogprob, names: TokenNames) -> dict[str, Any]:
    alternatives = [_named(token_id, logprob, names) for token_id, logprob in entry.top]
    return {**_named(entry.token_id, entry.logprob, names), "top_logprobs": alternatives}


def _named(token_id: int, logprob: float, names: TokenNames) -> dict[str, Any]:
    return {
        "token": names.name(token_id),
        "logprob": finite(logprob),
        "bytes": list(names.bytes_of(token_id)),
    }
