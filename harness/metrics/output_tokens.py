"""Length of the answer, reasoning included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import UNKNOWN_OUTPUT, ClientError, Missing, RequestMetric, Unit

if TYPE_CHECKING:
    from harness.record import Record


class OutputTokens(RequestMetric):
    """As the record's ``token_source`` counted them."""

    unit = Unit.TOKENS
    needs_output_tokens = True
    client_error = ClientError.NONE

    def value(self, record: Record, start_ns: int) -> float | Missing:
        """In tokens."""
        del start_ns
        return UNKNOWN_OUTPUT if record.output_tokens is None else record.output_tokens
