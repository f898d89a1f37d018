"""The name that the server gave to a request, by which its own log knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_LENGTH: Final = 200


class _Named(msgspec.Struct):
    id: str | None = None


class _Answer(msgspec.Struct):
    id: str | None = None
    response: _Named | None = None


_decoder = msgspec.json.Decoder(_Answer)


def server_id(data: bytes, mask: Callable[[str], str] = str) -> str | None:
    """The ``id`` of an answer, from its first event or the whole of it; None where it has none.

    Args:
        data: The event or the answer.
        mask: Takes secrets out, before what is too long is cut off.
    """
    try:
        answer = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    found = answer.id if answer.response is None else answer.response.id
    return mask(found)[:MAX_LENGTH] if found else None
