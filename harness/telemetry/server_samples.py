"""What of the looks at a server falls into the measured window: the samples of objectives on the server."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from harness.telemetry.growth import increase
from harness.telemetry.log import Absent, Reading, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.server_figures import ServerFigure
    from harness.summary.due_order import FloatArray
    from harness.summary.token_arrivals import IntArray
    from harness.telemetry.log import Line


@dataclasses.dataclass(frozen=True)
class ServerSamples:
    """The looks at a server, and the window that objectives are about.

    Attributes:
        readings: Of the whole run, in order of time.
        window_ns: Start and end of what is measured, since the start of the run.
        source: Whom they are from; None where nothing was read.
        absence: Why nothing was.
    """

    readings: tuple[Reading, ...]
    window_ns: tuple[int, int]
    source: Source | None = None
    absence: str = "the server's metrics were not read"

    def of(self, figure: ServerFigure) -> tuple[IntArray, FloatArray]:
        """When each sample of a figure was taken, ns, and the samples; both of shape (samples,).

        Of a counter these are its growths between neighbouring looks, as far as they reach into the window.
        """
        found = list(self._growths(figure.field) if figure.grows else self._values(figure.field))
        at_ns, values = zip(*found, strict=True) if found else ((), ())
        return np.array(at_ns, np.int64), np.array(values, np.float64)

    def reason(self, figure: ServerFigure) -> str:
        """Why there is no sample of a figure."""
        if self.source is None:
            return self.absence
        if not any(getattr(each.figures, figure.field) is not None for each in self.readings):
            return f"{self.source.url} ({self.source.dialect}) doesn't say it"
        if figure.grows and (late_ns := self._late_ns(figure.field)) > 0:
            late_s = late_ns / 1e9
            return (
                f"the server said it first {late_s:.3g} s into the measured window, and not what was before"
            )
        return "the server was not looked at inside the measured window: run longer"

    def _values(self, field: str) -> Iterator[tuple[int, float]]:
        start_ns, end_ns = self.window_ns
        for at_ns, value in self._known(field):
            if start_ns <= at_ns <= end_ns:
                yield at_ns, value

    def _growths(self, field: str) -> Iterator[tuple[int, float]]:
        start_ns, end_ns = self.window_ns
        found = [
            (at_ns, increase((before, value)))
            for (before_ns, before), (at_ns, value) in pairwise(self._known(field))
            if at_ns > start_ns and before_ns < end_ns
        ]
        if self._late_ns(field) <= 0 or any(grown for _, grown in found):  # else nobody saw its beginning
            yield from found

    def _late_ns(self, field: str) -> int:
        """How long after the start of the window a figure was seen first; 0 or less where it was in time."""
        return next((at_ns - self.window_ns[0] for at_ns, _ in self._known(field)), 0)

    def _known(self, field: str) -> Iterator[tuple[int, float]]:
        for reading in self.readings:
            value = getattr(reading.figures, field)
            if value is not None:
                yield reading.at_ns, value


def server_samples(lines: Sequence[Line], window_ns: tuple[int, int]) -> ServerSamples:
    """Those of the lines of ``telemetry.jsonl``."""
    readings = sorted((each for each in lines if isinstance(each, Reading)), key=lambda each: each.at_ns)
    source = next((each for each in lines if isinstance(each, Source)), None)
    absent = next((each.message for each in lines if isinstance(each, Absent)), None)
    if absent is None:
        return ServerSamples(tuple(readings), window_ns, source)
    return ServerSamples(tuple(readings), window_ns, source, absent)
