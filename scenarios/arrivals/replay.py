"""Arrivals as they came to a real service."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pydantic import Field

from scenarios.arrivals import OpenLoop
from scenarios.files import DataFile
from scenarios.traces import Format, read_trace, trace_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator


class Replay(OpenLoop):
    """The times of a trace; the run ends with it. ``prompts: {source: trace}`` has its lengths.

    Attributes:
        file: The trace.
        format: ``azure``, ``burstgpt`` or ``mooncake``.
        speed: 2 replays twice as fast. The pattern stays, the rate doubles.
    """

    file: DataFile = Field(examples=["trace.csv"])
    format: Format = Field(examples=["azure"])
    speed: float = Field(1.0, ge=1e-3, le=1e6)

    def due_ns(self, rng: Generator) -> Iterator[int]:  # noqa: ARG002 (nothing here is left to chance)
        """The times of the trace, from 0."""
        return iter(self._due)

    @functools.cached_property
    def _due(self) -> list[int]:
        due = [round(row.time_ns / self.speed) for row in read_trace(self.file, self.format)]
        return [time for time in due if self.duration is None or time < self.duration][: self.requests]

    @property
    def num_requests(self) -> int:
        """As many as the trace has within the limits."""
        return len(self._due)

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the trace was left out or changed."""
        return trace_notes(self.file, self.format)

    @property
    def planned_rate(self) -> float:
        """Requests by the time from the first to the last; by a second where that is shorter."""
        return len(self._due) / max(self._due[-1] / 1e9, 1.0)
