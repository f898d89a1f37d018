"""How late requests were sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import ClientError, Missing, RequestMetric, Unit

if TYPE_CHECKING:
    from harness.record import Record

_NEVER_SENT = Missing("the request was never sent")


class ScheduleLag(RequestMetric):
    """``sent - due``; 0 where a timer ran a hair early. A closed loop has no due times."""

    unit = Unit.NS
    client_error = ClientError.NONE

    def value(self, record: Record, start_ns: int) -> float | Missing:
        """In ns."""
        del start_ns
        return _NEVER_SENT if record.sent_ns is None else max(0, record.sent_ns - record.due_ns)
