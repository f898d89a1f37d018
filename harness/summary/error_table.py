"""Failures by class, each with a sample of what was said."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from reports.result import ErrorClass

if TYPE_CHECKING:
    from harness.record import Record

_MAX_SAMPLE: Final = 500
_MAX_CLASSES: Final = 1_000


class ErrorTable:
    """Counts of failures by outcome and detail, of the whole run."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._samples: dict[tuple[str, str], str] = {}

    def add(self, record: Record) -> None:
        """Count the request if it failed."""
        if not record.outcome.failed:
            return
        key = (record.outcome.value, record.detail)
        if len(self._counts) >= _MAX_CLASSES and key not in self._counts:
            key = (record.outcome.value, "other")
        self._counts[key] += 1
        if not self._samples.get(key):
            self._samples[key] = record.message[:_MAX_SAMPLE]

    def classes(self) -> tuple[ErrorClass, ...]:
        """Most frequent first, equals by name."""
        order = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return tuple(
            ErrorClass(outcome=key[0], detail=key[1], count=count, sample=self._samples[key])
            for key, count in order
        )
