"""Time to the first token of the answer itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import NOT_STREAMED, Missing, RequestMetric, Unit

if TYPE_CHECKING:
    from harness.record import Record

_NO_ANSWER = Missing("no token of the answer came, only reasoning or nothing")


class TimeToFirstAnswer(RequestMetric):
    """First chunk that is not reasoning - start; ``ttft`` where nothing is thought aloud."""

    unit = Unit.NS
    has_bases = True
    needs_stream = True

    def value(self, record: Record, start_ns: int) -> float | Missing:
        """In ns."""
        if not record.streamed:
            return NOT_STREAMED
        if record.answer_index is None:
            return _NO_ANSWER
        return record.chunk_ns[record.answer_index] - start_ns
