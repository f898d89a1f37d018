"""The part of a request's body that chat and text completions have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from scenarios.request import Arrival

_encoder = msgspec.json.Encoder()


def streaming_body(arrival: Arrival, model: str, asked: dict[str, Any]) -> bytes:
    """``asked`` with the model's name, the sampling, and the wish for a stream with usage."""
    return _encoder.encode(
        {
            "model": model,
            **asked,
            "stream": True,
            "stream_options": {"include_usage": True},
            **arrival.sampling,
        }
    )
