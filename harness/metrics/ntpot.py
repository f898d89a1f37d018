"""Whole time per output token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import NO_TOKEN, UNKNOWN_OUTPUT, ClientError, Missing, RequestMetric, Unit
from harness.metrics.e2e import EndToEnd

if TYPE_CHECKING:
    from harness.record import Record


class NormalizedTimePerOutputToken(RequestMetric):
    """``e2e / n``."""

    unit = Unit.NS
    has_bases = True
    needs_output_tokens = True
    client_error = ClientError.PER_TOKEN

    def value(self, record: Record, start_ns: int) -> float | Missing:
        """In ns."""
        if record.output_tokens is None:
            return UNKNOWN_OUTPUT
        if record.output_tokens == 0:
            return NO_TOKEN
        whole = EndToEnd().value(record, start_ns)
        return whole if isinstance(whole, Missing) else whole / record.output_tokens
