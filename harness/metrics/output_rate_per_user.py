"""How fast one user sees tokens come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import ClientError, Missing, RequestMetric, Unit
from harness.metrics.tpot import TimePerOutputToken

if TYPE_CHECKING:
    from harness.record import Record

_NO_TIME = Missing("all tokens came in one socket read")


class OutputRatePerUser(RequestMetric):
    """``1 / tpot``."""

    unit = Unit.TOKENS_PER_SECOND
    needs_stream = True
    needs_output_tokens = True
    client_error = ClientError.NONE

    def value(self, record: Record, start_ns: int) -> float | Missing:
        """In tokens per second."""
        tpot = TimePerOutputToken().value(record, start_ns)
        if isinstance(tpot, Missing):
            return tpot
        return 1e9 / tpot if tpot else _NO_TIME
