"""A server that is asked about a text, one request at a time."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final

import msgspec

from harness import transport
from harness.quality.errors import NotGivenError, QualityError
from harness.quality.reply import Listed, listed
from harness.timeline import End, Timeline
from harness.transport import HttpRequest
from harness.wire.error_text import error_text, one_line
from scenarios.timeouts import Timeouts

if TYPE_CHECKING:
    from harness.target import Target

PATIENCE: Final = Timeouts.model_validate(dict.fromkeys(Timeouts.model_fields, "10m"))
"""A long window takes a slow server minutes."""

_VERSION: Final = re.compile(r"/v\d+$")
_TOKENIZE_PATHS: Final = ("/tokenize", "/extras/tokenize")


class _Tokens(msgspec.Struct):
    tokens: list[int]


class AskedServer:
    """A model at a server. To be closed.

    Args:
        target: The server.
        model: The model's name there.
    """

    def __init__(self, target: Target, model: str) -> None:
        self.target, self.model = target, model
        self._carrier = transport.choose(target, PATIENCE)

    async def close(self) -> None:
        """Let go of the connection."""
        await self._carrier.close()

    async def tokens(self, text: str) -> list[int]:
        """Token ids of a text, with what begins one if the model wants that.

        Each kind of server reads its own name of the text in the body.

        Raises:
            QualityError: The server has no tokenize call.
        """
        body: dict[str, Any] = {"model": self.model, "add_special_tokens": True, "add_special": True}
        body |= dict.fromkeys(("prompt", "content", "input"), text)
        base = _VERSION.sub("", self.target.base_path)
        for place in dict.fromkeys((base, "", self.target.base_path)):
            for path in _TOKENIZE_PATHS:
                status, reply = await self._post(f"{place}{path}", body)
                if status == 200 and (found := _tokens(reply)):
                    return found
        raise QualityError(
            f"{self.target.url} has no tokenize call such as those of vLLM, llama.cpp and the bundled one, "
            "so its tokens can't be known; measure a server that has one"
        )

    async def complete(self, prompt: list[int], num_top: int, max_tokens: int = 1, **fields: Any) -> Listed:  # noqa: ANN401  # JSON
        """The tokens that a completion of ``prompt`` lists; greedy, past any end of text.

        Raises:
            NotGivenError: It is refused, or lists none.
            QualityError: The server doesn't answer.
        """
        body = {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": max_tokens,
            "temperature": 0,
            "logprobs": num_top,
            "ignore_eos": True,
            "return_tokens_as_token_ids": True,
            **fields,
        }
        status, reply = await self._post(f"{self.target.base_path}/completions", body)
        if status != 200:
            message = one_line(self.target.mask(error_text(reply)))
            raise NotGivenError(f"/completions answers {status}: {message}")
        return listed(reply)

    async def _post(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        query = f"?{self.target.query}" if self.target.query else ""
        timeline = Timeline(time.monotonic_ns())
        request = HttpRequest("POST", path + query, msgspec.json.encode(body), "application/json")
        await self._carrier.exchange(request, timeline)
        if timeline.end is not End.COMPLETE or timeline.status is None:
            message = one_line(self.target.mask(timeline.message))
            raise QualityError(f"{self.target.url}: {path} doesn't answer: {message}; is the server running?")
        return timeline.status, b"".join(timeline.reads)


def _tokens(reply: bytes) -> list[int] | None:
    try:
        return msgspec.json.decode(reply, type=_Tokens).tokens
    except msgspec.DecodeError:
        return None
