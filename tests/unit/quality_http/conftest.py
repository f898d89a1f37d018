"""Servers of a made-up language of bytes, each speaking its own form of log-probabilities."""

from __future__ import annotations

import contextlib
import math
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from support.json_server import JsonServer, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VOCAB_SIZE = 256


@cache
def law(last: int, sharpness: float = 1.0) -> list[float]:
    """Log-probabilities of what follows a byte: letters near it are likelier, and blanks after any."""
    weights = [
        -sharpness * abs(token - last) / 8 - (0.0 if token == 32 else 1.0) for token in range(VOCAB_SIZE)
    ]
    total = math.log(math.fsum(map(math.exp, weights)))
    return [weight - total for weight in weights]


class BytesServer(JsonServer):
    """A server whose form of replies is ``form``: ``echo``, ``entries`` (llama.cpp), ``plain`` or ``none``.

    Attributes:
        asked: Bodies of the completions.
    """

    def __init__(self, form: str, sharpness: float) -> None:
        self.form, self.sharpness = form, sharpness
        self.asked: list[dict[str, Any]] = []
        super().__init__()

    def reply_to(self, path: str, body: Any, authorization: str | None) -> tuple[int, Any]:
        """See ``JsonServer``."""
        del authorization
        return (200, {"data": [{"id": "bytes"}]}) if body is None else self.answer(path, body)

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Status and JSON of the reply to a POST."""
        if path == "/tokenize" and self.form != "untold":
            return 200, {"tokens": list(body["content"].encode()), "count": 0}
        if path != "/v1/completions":
            return 404, {"error": {"message": "there is no such path"}}
        self.asked.append(body)
        if self.form == "entries" and body.get("echo"):
            return 400, {"error": {"message": "Only no echo is supported"}}
        return 200, {"choices": [{"text": "", "logprobs": self._logprobs(body)}]}

    def _logprobs(self, body: dict[str, Any]) -> dict[str, Any] | None:
        written = list(body["prompt"])
        for _ in range(body["max_tokens"]):
            scores = law(written[-1], self.sharpness)
            written.append(scores.index(max(scores)))
        new = written[len(body["prompt"]) :]
        if self.form == "none":
            return None
        if self.form == "entries":
            before = written[len(body["prompt"]) - 1 :]
            return {
                "content": [self._entry(last, token, body) for last, token in zip(before, new, strict=False)]
            }
        return self._lists(
            written if self.form == "echo" and body.get("echo") else written[-len(new) - 1 :], body
        )

    def _entry(self, last: int, token: int, body: dict[str, Any]) -> dict[str, Any]:
        scores = law(last, self.sharpness)
        best = sorted(range(VOCAB_SIZE), key=lambda each: -scores[each])[: body["logprobs"]]
        top = [{"id": each, "token": "?", "logprob": scores[each], "bytes": [each]} for each in best]
        return {"id": token, "token": "?", "logprob": scores[token], "top_logprobs": top}

    def _lists(self, shown: list[int], body: dict[str, Any]) -> dict[str, Any]:
        entries = [self._entry(last, token, body) for last, token in pairwise(shown)]
        tops = [
            {self._name(each["id"]): each["logprob"] for each in entry["top_logprobs"]} for entry in entries
        ]
        lists: dict[str, Any] = {
            "tokens": [self._name(entry["id"]) for entry in entries],
            "token_logprobs": [entry["logprob"] for entry in entries],
            "top_logprobs": tops,
        }
        if self.form == "echo" and body.get("echo"):
            lists["tokens"].insert(0, self._name(shown[0]))
            lists["token_logprobs"].insert(0, None)
            lists["top_logprobs"].insert(0, None)
        return lists

    def _name(self, token: int) -> str:
        return chr(token) if self.form == "plain" else f"token_id:{token}"


@pytest.fixture(scope="session")
def bytes_law() -> Callable[..., list[float]]:
    """``law(last, sharpness)``: log-probabilities of all bytes."""
    return law


@pytest.fixture
def start_bytes() -> Iterator[Callable[..., BytesServer]]:
    """``start(form, sharpness=1.0)``; servers stop with the test."""
    with contextlib.ExitStack() as stack:

        def start(form: str, sharpness: float = 1.0) -> BytesServer:
            return stack.enter_context(serving(BytesServer(form, sharpness)))

        yield start
