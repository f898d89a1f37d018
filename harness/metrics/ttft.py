"""Time to the first token, thought aloud or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import NO_TOKEN, NOT_STREAMED, Missing, RequestMetric, Unit

if TYPE_CHECKING:
    from harness.record import Record


class TimeToFirstToken(RequestMetric):
    """``chunk[0] - start``."""

    unit = Unit.NS
    has_bases = True
    needs_stream = True

    def value(self, record: Record, start_ns: int) -> float | Missing:
        """In ns."""
        if not record.streamed:
            return NOT_STREAMED
        return record.chunk_ns[0] - start_ns if record.chunk_ns else NO_TOKEN
