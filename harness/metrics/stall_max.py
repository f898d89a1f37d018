"""The worst pause within an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import NOT_STREAMED, ONE_CHUNK, ClientError, Missing, RequestMetric, Unit

if TYPE_CHECKING:
    from harness.record import Record


class LongestStall(RequestMetric):
    """The largest ``chunk_gap`` of a request."""

    unit = Unit.NS
    needs_stream = True
    client_error = ClientError.LONGEST

    def value(self, record: Record, start_ns: int) -> float | Missing:
        """In ns."""
        del start_ns
        if not record.streamed:
            return NOT_STREAMED
        return float(record.gaps_ns.max()) if len(record.chunk_ns) > 1 else ONE_CHUNK
