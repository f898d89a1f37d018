"""Failures by class, each with a sample of what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from reports.result import ErrorClass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.record import Record

_MAX_SAMPLE: Final = 500
_MAX_CLASSES: Final = 1_000
_OTHER: Final = "other"


class Failures(msgspec.Struct, kw_only=True):
    """Requests that failed alike.

    Attributes:
        outcome: Their outcome.
        detail: Its sub-class.
        count: How many.
        index: The first of them in the schedule that had a message.
        sample: Its message.
        request_id: Its ``X-Request-Id``.
    """

    outcome: str
    detail: str
    count: int = 0
    index: int | None = None
    sample: str = ""
    request_id: str | None = None

    def add(self, other: Failures) -> None:
        """Take the others in, whatever they are."""
        self.count += other.count
        if other.index is not None and (self.index is None or other.index < self.index):
            self.index, self.sample, self.request_id = other.index, other.sample, other.request_id


class ErrorState(msgspec.Struct, frozen=True, kw_only=True):
    """What an ``ErrorTable`` has counted.

    Attributes:
        classes: By outcome and detail.
        others: By outcome, of the classes that are too many.
    """

    classes: list[Failures]
    others: list[Failures]


class ErrorTable:
    """Counts of failures by outcome and detail, of the whole run.

    A server that thinks up a new class for each request has the classes after the first thousand, by name,
    put together; so the table doesn't depend on the order of requests.
    """

    def __init__(self) -> None:
        self._classes: dict[tuple[str, str], Failures] = {}
        self._others: dict[str, Failures] = {}

    def add(self, record: Record) -> None:
        """Count the request if it failed."""
        if not record.outcome.failed:
            return
        sample = record.message[:_MAX_SAMPLE]
        self._add(
            Failures(
                outcome=record.outcome.value,
                detail=record.detail,
                count=1,
                index=record.index if sample else None,
                sample=sample,
                request_id=record.request_id,
            )
        )

    def state(self) -> ErrorState:
        """What was counted so far, as a value that can be sent to another process."""
        return ErrorState(classes=_copies(self._classes.values()), others=_copies(self._others.values()))

    def merge(self, other: ErrorState) -> None:
        """Add the state of another."""
        for each in other.classes:
            self._add(each)
        for each in other.others:
            self._add_other(each)

    def _add(self, failures: Failures) -> None:
        key = (failures.outcome, failures.detail)
        if key not in self._classes:
            self._classes[key] = Failures(outcome=failures.outcome, detail=failures.detail)
        self._classes[key].add(failures)
        if len(self._classes) > _MAX_CLASSES:
            self._add_other(self._classes.pop(max(self._classes)))

    def _add_other(self, failures: Failures) -> None:
        others = Failures(outcome=failures.outcome, detail=_OTHER)
        self._others.setdefault(failures.outcome, others).add(failures)

    def classes(self) -> tuple[ErrorClass, ...]:
        """Most frequent first, equals by name."""
        found = (*self._classes.values(), *self._others.values())
        return tuple(
            ErrorClass(
                outcome=each.outcome,
                detail=each.detail,
                count=each.count,
                sample=each.sample,
                request_id=each.request_id,
            )
            for each in sorted(found, key=lambda each: (-each.count, each.outcome, each.detail))
        )


def _copies(failures: Iterable[Failures]) -> list[Failures]:
    return [msgspec.structs.replace(each) for each in failures]
