"""What a server says in a stream beside its form: lines that are no fields, events that bear only a message.

To the standard, and to a client, they mean nothing: an answer that goes on after them, or ends as it should,
is none the worse. Where it breaks off they are what the server had to say about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from harness.wire.error_text import error_in, error_text

if TYPE_CHECKING:
    from collections.abc import Sequence


class Aside(NamedTuple):
    """Words beside the form.

    Attributes:
        text: As one line.
        is_error: True where they are in a form in which servers tell of errors.
    """

    text: str
    is_error: bool


def aside_of(lines: Sequence[bytes]) -> Aside | None:
    """What lines that are no fields of an event say.

    An error is a JSON object that holds a message, on a line or on several, and what llama.cpp once sent:
    ``error: {...}``.
    """
    whole = b"\n".join(lines)
    for said in (whole, *lines):
        field, _, value = said.partition(b":")
        if field == b"error":
            return Aside(error_text(value) or "an error without a message", True)
        if text := error_in(said):
            return Aside(text, True)
    text = error_text(whole)
    return Aside(text, False) if text else None
