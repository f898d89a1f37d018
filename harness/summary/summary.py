"""What the records of a run come to."""

from __future__ import annotations

from typing import Any

import msgspec

from reports.conversations import Conversations
from reports.result import ErrorClass, MetricSummary, Rate, RequestRow, Sample, TimePoint


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a ``reports.result.Result`` that come from records; fields as there."""

    window_s: tuple[float, float]
    outcomes: dict[str, int]
    metrics: tuple[MetricSummary, ...]
    rates: tuple[Rate, ...]
    errors: tuple[ErrorClass, ...]
    timeline: tuple[TimePoint, ...]
    requests: tuple[RequestRow, ...]
    num_requests: int
    samples: tuple[Sample, ...]
    token_source: str
    notes: tuple[str, ...]
    conversations: Conversations | None

    def fields(self) -> dict[str, Any]:
        """As arguments of ``Result``."""
        return {name: getattr(self, name) for name in self.__struct_fields__}
