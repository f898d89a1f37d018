"""What a task gets for a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from harness.record import Record


class AnswerError(Exception):
    """A request failed. Its text is the outcome and the message, as in the report."""


class Answer(NamedTuple):
    """An answer, or why there is none.

    Attributes:
        text: What the server said, without what it thought aloud.
        record: Every time and count of the request.
    """

    text: str
    record: Record

    @property
    def ok(self) -> bool:
        """Whether it went well."""
        return self.record.outcome.succeeded

    @property
    def error(self) -> AnswerError | None:
        """Why it failed; None where it didn't."""
        record = self.record
        if not record.outcome.failed:
            return None
        return AnswerError(": ".join(filter(None, (record.outcome.value, record.detail, record.message))))
