"""Embeddings: one reply, no tokens. What is measured of it is ``e2e``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec
import numpy as np

from harness.errors import EndpointError
from harness.wire import Delta, Endpoint, Usage, WireError
from harness.wire.error_text import error_in, error_text
from harness.wire.reading import FAULTS, NOT_READ, Count, Reader

if TYPE_CHECKING:
    from scenarios.request import Arrival

_UNKNOWN_HERE = ("max_tokens", "min_tokens", "ignore_eos")
_OTHER_TYPES: Final = re.compile("dtype|embedding_type")
"""Fields of a request that may ask for other numbers than 32-bit floats (vLLM, Voyage, Jina, Cohere)."""
_FLOAT32_BYTES: Final = 4
_NESTED: Final = re.compile(rb"\[\s*\[")
_encoder = msgspec.json.Encoder()


class _Usage(msgspec.Struct):
    prompt_tokens: Count | None = None


class _Item(msgspec.Struct):
    embedding: msgspec.Raw = msgspec.Raw(b"null")


_vector = msgspec.json.Decoder(list[float])
_vectors = msgspec.json.Decoder(list[list[float]])
_base64 = msgspec.json.Decoder(bytes)


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

    def __init__(self) -> None:
        self._num_bytes = _FLOAT32_BYTES

    def asked_for(self, sampling: dict[str, Any]) -> Endpoint:
        """See ``Endpoint``."""
        if not any(map(_OTHER_TYPES.search, sampling)):
            return self
        other = Wire()
        other._num_bytes = 1
        return other

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
        has_vectors = _has_vectors(reply.data or [], self._num_bytes)
        return Delta(
            usage=None if reply.usage is None else Usage(prompt_tokens=reply.usage.prompt_tokens),
            error=error_text(data) if reply.error or reply.object == "error" else None,
            has_odd_usage=has_odd_usage,
            aside=None if has_vectors else error_in(data),
            has_choices=has_vectors,
        )


def _has_vectors(data: list[_Item], num_bytes: int) -> bool:
    return bool(data) and all(_is_vector(bytes(item.embedding), num_bytes) for item in data)


def _is_vector(embedding: bytes, num_bytes: int) -> bool:
    """Numbers; a list of such lists, one for each token (multi-vector models); or base64 of numbers.

    Raises:
        WireError: It is something else.
    """
    try:
        if embedding.startswith(b'"'):
            return _holds_numbers(_base64.decode(embedding), num_bytes)
        if _NESTED.match(embedding):
            return all(_vectors.decode(embedding))
        return embedding != b"null" and bool(_vector.decode(embedding))
    except FAULTS as error:
        raise WireError(f"an embedding that is none: {error}") from error


def _holds_numbers(packed: bytes, num_bytes: int) -> bool:
    if len(packed) % num_bytes:
        raise WireError(f"an embedding of {len(packed):,} bytes, which are no numbers of {num_bytes}")
    if num_bytes == _FLOAT32_BYTES and not np.isfinite(np.frombuffer(packed, "<f4")).all():
        raise WireError("an embedding with a number that isn't finite")
    return bool(packed)
