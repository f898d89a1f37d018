"""Percentile text, for HdrHistogram's plotter and hdr-plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TextIO

from reports.hgrm import percentile_text

if TYPE_CHECKING:
    from reports.hdr_log import Interval

SUFFIX: Final = ".hgrm"


def write(file: TextIO, interval: Interval, begun_s: float, name: str, units_per_value: float) -> None:
    """See ``reports.distributions``. Percentile text has no place for times and names."""
    del begun_s, name
    file.write(percentile_text(interval.histogram, units_per_value))
