"""How long a stream stays open after its last token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import NO_TOKEN, NOT_STREAMED, ClientError, Missing, RequestMetric, Unit

if TYPE_CHECKING:
    from harness.record import Record


class CloseLag(RequestMetric):
    """``done - last_token``."""

    unit = Unit.NS
    needs_stream = True
    client_error = ClientError.INTERVAL

    def value(self, record: Record, start_ns: int) -> float | Missing:
        """In ns."""
        del start_ns
        if not record.streamed:
            return NOT_STREAMED
        return record.done_ns - record.chunk_ns[-1] if record.chunk_ns else NO_TOKEN
