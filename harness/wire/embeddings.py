"""Embeddings: one reply, no tokens. What is measured of it is ``e2e``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from harness.errors import EndpointError
from harness.wire import Delta, Endpoint, Usage
from harness.wire.error_text import error_in, error_text
from harness.wire.reading import NOT_READ, Count, Reader

if TYPE_CHECKING:
    from scenarios.request import Arrival

_UNKNOWN_HERE = ("max_tokens", "min_tokens", "ignore_eos")
_NO_VECTOR: Final = re.compile(rb'null|""|\[\s*(?:\]|null\b)')
"""How an embedding begins that is none: no numbers, or null where numbers should be."""
_encoder = msgspec.json.Encoder()


class _Usage(msgspec.Struct):
    prompt_tokens: Count | None = None


class _Item(msgspec.Struct):
    embedding: msgspec.Raw = msgspec.Raw(b"null")


class _Reply(msgspec.Struct):
    data: list[_Item] | None = None
    usage: _Usage | None = None
    error: Any = None
    object: Any = None


class _ReplyWithoutUsage(_Reply):
    usage: _Usage | None = msgspec.field(default=None, name=NOT_READ)


_reader: Reader[_Reply] = Reader(_Reply, _ReplyWithoutUsage)


class Wire(Endpoint):
    """``/embeddings``: a text or token ids. Limits of the output are not sent, there is none."""

    path: ClassVar[str] = "/embeddings"
    streaming: ClassVar[bool] = False
    end_marks: ClassVar[tuple[bytes, ...]] = ()

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
        reply, has_odd_usage = _reader.read(data)
        has_vectors = _has_vectors(reply.data or [])
        return Delta(
            usage=None if reply.usage is None else Usage(prompt_tokens=reply.usage.prompt_tokens),
            error=error_text(data) if reply.error or reply.object == "error" else None,
            has_odd_usage=has_odd_usage,
            aside=None if has_vectors else error_in(data),
            has_choices=has_vectors,
        )


def _has_vectors(data: list[_Item]) -> bool:
    return bool(data) and not any(_NO_VECTOR.match(item.embedding) for item in data)
