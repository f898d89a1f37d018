"""Time to the last token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import Missing, RequestMetric, Unit

if TYPE_CHECKING:
    from harness.record import Record


class EndToEnd(RequestMetric):
    """``last_token - start``; without any token ``done - start``."""

    unit = Unit.NS
    has_bases = True

    def value(self, record: Record, start_ns: int) -> float | Missing:
        """In ns."""
        return (record.chunk_ns[-1] if record.chunk_ns else record.done_ns) - start_ns
