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
    """A token's log-probability, and where its text begins in that of the choice.

    Attributes:
        logprob: Of the token.
        offset: In characters.
        is_known: Not so for a prompt's first token.
    """

    logprob: TokenLogprob
    offset: int
    is_known: bool = True


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
    """Text completion's form: parallel lists; null where nothing is known."""
    return {
        "text_offset": [entry.offset for entry in entries],
        "token_logprobs": [finite(entry.logprob.logprob) if entry.is_known else None for entry in entries],
        "tokens": [names.name(entry.logprob.token_id) for entry in entries],
        "top_logprobs": [
            _alternatives(entry.logprob, names) if entry.is_known else None for entry in entries
        ],
    }


def prompt_logprobs(entries: Sequence[TokenLogprob], names: TokenNames) -> list[dict[str, Any] | None]:
    """vLLM's form: by token id, the prompt's own first; null for the first token."""
    return [None, *(_ranked(entry, names) for entry in entries)]


def finite(logprob: float) -> float:
    """``logprob``, or the floor where it is minus infinity or no number."""
    return FLOOR if math.isnan(logprob) else max(FLOOR, logprob)


def _ranked(entry: TokenLogprob, names: TokenNames) -> dict[str, Any]:
    triples = [(entry.token_id, entry.logprob, entry.rank)]
    triples += [(token_id, logprob, rank) for rank, (token_id, logprob) in enumerate(entry.top, 1)]
    return {
        str(token_id): {"logprob": finite(logprob), "rank": rank, "decoded_token": names.text_of(token_id)}
        for token_id, logprob, rank in triples
    }


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
