"""Time between chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import NOT_STREAMED, ONE_CHUNK, ClientError, Missing, TokenMetric, Unit, Values

if TYPE_CHECKING:
    from harness.record import Record


class ChunkGap(TokenMetric):
    """``chunk[i] - chunk[i-1]``; 0 for chunks of one socket read."""

    unit = Unit.NS
    needs_stream = True
    client_error = ClientError.INTERVAL

    def values(self, record: Record, start_ns: int) -> Values | Missing:
        """In ns, one less than there are chunks."""
        del start_ns
        if not record.streamed:
            return NOT_STREAMED
        if len(record.chunk_ns) < 2:
            return ONE_CHUNK
        return record.gaps_ns
