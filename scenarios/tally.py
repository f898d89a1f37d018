"""What of a data set isn't sent as it stands there, counted by reason, for the notes of a plan."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Tally:
    """Counts by reason, such as ``requests left out: they failed there``."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, reason: str) -> None:
        """Count one more."""
        self._counts[reason] += 1

    def notes(self, name: str, total: int | None = None) -> tuple[str, ...]:
        """One for each reason, sorted.

        Args:
            name: Of the data set.
            total: Of what the counts are parts; None not to say.
        """
        return tuple(self._notes(name, "" if total is None else f" of {total}"))

    def _notes(self, name: str, of_total: str) -> Iterator[str]:
        for reason, num in sorted(self._counts.items()):
            yield f"{name}: {reason}: {num}{of_total}"
