"""Time per output token after the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import (
    NO_TOKEN,
    NOT_STREAMED,
    ONE_CHUNK,
    UNKNOWN_OUTPUT,
    ClientError,
    Missing,
    RequestMetric,
    Unit,
)

if TYPE_CHECKING:
    from harness.record import Record

_ALL_AT_ONCE = Missing("no token came after the first chunk")


class TimePerOutputToken(RequestMetric):
    """``(last_token - chunk[0]) / (n - k0)``, k0 being the tokens of the first chunk, 1 unless known."""

    unit = Unit.NS
    needs_stream = True
    needs_output_tokens = True
    client_error = ClientError.PER_TOKEN

    def value(self, record: Record, start_ns: int) -> float | Missing:
        """In ns."""
        del start_ns
        if not record.streamed:
            return NOT_STREAMED
        if not record.chunk_ns:
            return NO_TOKEN
        if record.output_tokens is None:
            return UNKNOWN_OUTPUT
        first = record.chunk_tokens[0] if record.chunk_tokens_exact else 1
        if record.output_tokens <= first:
            return _ALL_AT_ONCE
        if len(record.chunk_ns) < 2:
            return ONE_CHUNK
        return (record.chunk_ns[-1] - record.chunk_ns[0]) / (record.output_tokens - first)
