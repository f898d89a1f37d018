"""Events that are alike in all but their text, as most of an answer are, read without parsing each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_FEW: Final = 8
_NOT_PLAIN: Final = re.compile(rb'["\\\x00-\x1f]')
"""What a JSON string can't hold as it stands, or what begins an escape."""


def texts_of_alike(events: list[bytes], text_of: Callable[[bytes], str | None]) -> list[str | None]:
    """The text of each event that can be told from one of them; None for any other.

    The one in the middle is the pattern. What is the same JSON around another plain string means the same but
    for that string.

    Args:
        events: The data of each.
        text_of: The text of an event that bears text and nothing else, by parsing it; None for any other.
    """
    pattern = _around_text(events[len(events) // 2], text_of) if len(events) >= _FEW else None
    if pattern is None:
        return [None] * len(events)
    before, after = pattern
    begin, end = len(before), -len(after)
    found = [each[begin:end] if each.startswith(before) and each.endswith(after) else b"" for each in events]
    if _NOT_PLAIN.search(b"".join(found)):
        found = [b"" if _NOT_PLAIN.search(text) else text for text in found]
    try:
        return [text.decode() or None for text in found]
    except UnicodeDecodeError:
        return [None] * len(events)


def _around_text(event: bytes, text_of: Callable[[bytes], str | None]) -> tuple[bytes, bytes] | None:
    """What stands before and after the text of an event; None where that can't be told for sure."""
    text = text_of(event)
    if not text:
        return None
    spot = event.rfind(b'"%s"' % text.encode()) + 1
    before, after = event[:spot], event[spot + len(text.encode()) :]
    other = f"{text}, another"
    return (before, after) if text_of(before + other.encode() + after) == other else None
