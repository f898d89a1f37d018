"""Stop strings in a text that comes in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class StopStrings:
    """Lets text through until a stop string is complete, and holds back only what may become one.

    The match that is complete first wins, of those the one that began first, so that the result is the same
    however the text is cut into pieces.

    Args:
        stops: None of them empty.
        include: Let the stop string itself through as well.

    Attributes:
        matched: The stop string that ended the text; None before.
    """

    def __init__(self, stops: Sequence[str], include: bool = False) -> None:
        if not all(stops):
            raise ValueError("a stop string is empty; leave it out")
        self.matched: str | None = None
        self._stops = tuple(stops)
        self._include = include
        self._held = ""

    def push(self, text: str) -> str:
        """Take new text; returns what can be shown. After a match all further text is dropped."""
        if self.matched is not None:
            return ""
        text = self._held + text
        if (match := self._first_match(text)) is not None:
            begin, self.matched = match
            self._held = ""
            return text[: begin + len(self.matched) * self._include]
        shown = len(text) - self._num_held(text)
        self._held = text[shown:]
        return text[:shown]

    def flush(self) -> str:
        """End of the text: what was held back and became no stop string."""
        held, self._held = self._held, ""
        return held

    def _first_match(self, text: str) -> tuple[int, str] | None:
        """Where the winner begins, and which it is."""
        found = [(text.find(stop), stop) for stop in self._stops if stop in text]
        return min(found, key=lambda match: (match[0] + len(match[1]), match[0])) if found else None

    def _num_held(self, text: str) -> int:
        """Length of the longest end of ``text`` that a stop string begins with."""
        return max(_overlap(text, stop) for stop in self._stops) if self._stops else 0


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of ``text`` that ``stop`` begins with, without being all of it."""
    begin = text.find(stop[0], max(0, len(text) - len(stop) + 1))
    while begin >= 0 and not stop.startswith(text[begin:]):
        begin = text.find(stop[0], begin + 1)
    return len(text) - begin if begin >= 0 else 0
