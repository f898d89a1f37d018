"""Log-probabilities in the replies of ``/v1/completions``, in the forms that servers write them."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from harness.quality.errors import NotGivenError
from harness.quality.scores import Position

_BY_ID: Final = "token_id:"


class Listed(NamedTuple):
    """The tokens of a reply.

    Attributes:
        by_id: Whether they are named by their ids.
        positions: In order. A token that nothing precedes has no log-probability.
    """

    by_id: bool
    positions: list[Position]


class _Entry(msgspec.Struct):
    token: str
    logprob: float
    id: int | None = None
    top_logprobs: list[_Entry] = []

    @property
    def name(self) -> str:
        return self.token if self.id is None else str(self.id)


class _Logprobs(msgspec.Struct):
    tokens: list[str] | None = None
    token_logprobs: list[float | None] = []
    top_logprobs: list[dict[str, float] | None] | None = None
    content: list[_Entry] | None = None


class _Choice(msgspec.Struct):
    logprobs: _Logprobs | None = None


class _Reply(msgspec.Struct):
    choices: list[_Choice]


def listed(body: bytes) -> Listed:
    """The tokens of the only choice of a reply.

    Raises:
        NotGivenError: It holds no log-probabilities.
    """
    try:
        (choice,) = msgspec.json.decode(body, type=_Reply).choices
    except (msgspec.DecodeError, ValueError) as error:
        raise NotGivenError(f"the reply is no completion ({error})") from error
    if choice.logprobs is None:
        raise NotGivenError("the reply holds no logprobs")
    if choice.logprobs.content is not None:
        return _of_entries(choice.logprobs.content)
    return _of_lists(choice.logprobs)


def _of_entries(entries: list[_Entry]) -> Listed:
    """llama.cpp's form: an entry for each token, with those that might have stood in its place."""
    positions = []
    for entry in entries:
        top = {each.name: each.logprob for each in (*entry.top_logprobs, entry)}
        positions.append(Position(entry.name, entry.logprob, _ranked(top)))
    return Listed(all(entry.id is not None for entry in entries), positions)


def _of_lists(found: _Logprobs) -> Listed:
    """OpenAI's form: parallel lists."""
    tokens = found.tokens or []
    by_id = all(token.startswith(_BY_ID) for token in tokens)
    tops = found.top_logprobs or [None] * len(tokens)
    if not len(tokens) == len(found.token_logprobs) == len(tops):
        raise NotGivenError("the reply's lists of tokens and log-probabilities differ in length")
    positions = []
    for token, logprob, top in zip(tokens, found.token_logprobs, tops, strict=True):
        own = {} if logprob is None else {token: logprob}
        named = {_name(name, by_id=by_id): value for name, value in ((top or {}) | own).items()}
        positions.append(Position(_name(token, by_id=by_id), logprob, _ranked(named)))
    return Listed(by_id, positions)


def _name(token: str, *, by_id: bool) -> str:
    return token.removeprefix(_BY_ID) if by_id else token


def _ranked(top: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(top.items(), key=lambda pair: pair[1], reverse=True)
