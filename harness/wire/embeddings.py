"""Embeddings: one reply, no tokens. What is measured of it is ``e2e``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from harness.errors import EndpointError
from harness.wire import Delta, Endpoint, Usage, WireError
from harness.wire.error_text import error_text

if TYPE_CHECKING:
    from scenarios.request import Arrival

_UNKNOWN_HERE = ("max_tokens", "min_tokens", "ignore_eos")
_encoder = msgspec.json.Encoder()


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None


class _Reply(msgspec.Struct):
    data: list[msgspec.Raw] | None = None
    usage: _Usage | None = None
    error: Any = None
    object: Any = None


_decoder = msgspec.json.Decoder(_Reply)


class Wire(Endpoint):
    """``/embeddings``: a text or token ids. Limits of the output are not sent, there is none."""

    path: ClassVar[str] = "/embeddings"
    streaming: ClassVar[bool] = False

    def body(self, arrival: Arrival, model: str) -> bytes:
        """See ``Endpoint``."""
        prompt = arrival.prompt
        asked = prompt.text if prompt.text is not None else prompt.token_ids
        if asked is None:
            raise EndpointError("a conversation can't go to embeddings; use endpoint: chat")
        sampling = {key: each for key, each in arrival.sampling.items() if key not in _UNKNOWN_HERE}
        return _encoder.encode({"model": model, "input": asked, **sampling})

    def decode(self, data: bytes) -> Delta:
        """See ``Endpoint``."""
        try:
            reply = _decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise WireError(f"{error}: {error_text(data)}") from error
        return Delta(
            usage=None if reply.usage is None else Usage(prompt_tokens=reply.usage.prompt_tokens),
            error=error_text(data) if reply.error or reply.object == "error" else None,
            has_choices=bool(reply.data),
        )
