"""A metric on a basis: what one histogram holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from harness import metrics

if TYPE_CHECKING:
    from harness.record import Record

RESPONSE: Final = "response"
SERVICE: Final = "service"
BASES: Final = (RESPONSE, SERVICE)


class Series(NamedTuple):
    """A metric and the basis it is counted on.

    Attributes:
        metric: The metric's name.
        basis: ``response`` (from due) or ``service`` (from sent); None where there is no difference,
            which in a closed loop holds for every metric.
    """

    metric: str
    basis: str | None = None

    def __str__(self) -> str:
        """As objectives write it: ``ttft``, ``service_ttft``."""
        return f"service_{self.metric}" if self.basis == SERVICE else self.metric

    def start_ns(self, record: Record) -> int:
        """When the request began: due on the response basis, sent on any other."""
        if self.basis == RESPONSE or record.sent_ns is None:
            return record.due_ns
        return record.sent_ns


def all_series(loop: str) -> tuple[Series, ...]:
    """Every series of a run with that loop, ``open`` or ``closed``."""
    return tuple(Series(each.name, basis) for each in metrics.every_metric() for basis in _bases(each, loop))


def series_of(metric: str, basis: str | None, loop: str) -> Series:
    """The series that ``basis`` of a metric means in such a loop."""
    apart = loop == "open" and metrics.metric(metric).has_bases
    return Series(metric, (basis or RESPONSE) if apart else None)


def _bases(metric: metrics.Metric, loop: str) -> tuple[str | None, ...]:
    return (RESPONSE, SERVICE) if metric.has_bases and loop == "open" else (None,)
