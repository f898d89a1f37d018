"""The name that the server gave to a request, by which its own log knows it."""

from __future__ import annotations

from typing import Final

import msgspec

MAX_LENGTH: Final = 200


class _Named(msgspec.Struct):
    id: str | None = None


class _Answer(msgspec.Struct):
    id: str | None = None
    response: _Named | None = None


_decoder = msgspec.json.Decoder(_Answer)


def server_id(data: bytes) -> str | None:
    """The ``id`` of an answer, from its first event or the whole of it; None where it has none."""
    try:
        answer = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    found = answer.id if answer.response is None else answer.response.id
    return found[:MAX_LENGTH] if found else None
