"""An interval log of one line without a tag, for HistogramLogAnalyzer and HdrHistogramVisualizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TextIO

from reports.hdr_log import HdrLogWriter

if TYPE_CHECKING:
    from reports.hdr_log import Interval

SUFFIX: Final = ".hlog"


def write(file: TextIO, interval: Interval, begun_s: float, name: str, units_per_value: float) -> None:
    """See ``reports.distributions``."""
    writer = HdrLogWriter(file, begun_s, name, units_per_value)
    writer.write(interval.histogram, interval.start_s, interval.length_s)
