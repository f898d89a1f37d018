"""The interval log of HdrHistogram (``.hlog``): written in format 1.3, read in all of 1.0 to 1.3.

A line holds an optional tag, the start and length of an interval in seconds, its largest value in
display units and the encoded histogram. HistogramLogAnalyzer, HdrHistogramVisualizer and hdr-plot
read these files.
"""

from __future__ import annotations

import dataclasses
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

import numpy as np

from reports.hdr_codec import decode, encode
from reports.hdr_errors import DecodeError
from reports.hdr_layout import Layout
from reports.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TIME = re.compile(r"#\[(StartTime|BaseTime): ([\d.]+)")
_BAD_IN_TAG = re.compile(r"[,\s]")
_YEAR_S = 365 * 24 * 3600.0


@dataclasses.dataclass(frozen=True)
class Interval:
    """One line of a log.

    Attributes:
        tag: None where the line has none.
        start_s: As written: from the log's base time, or seconds since the epoch.
        length_s: Length of the interval.
        maximum: Largest value as written, in the log's display unit.
        histogram: The interval's samples.
    """

    tag: str | None
    start_s: float
    length_s: float
    maximum: float
    histogram: Histogram


@dataclasses.dataclass(frozen=True)
class HdrLog:
    """A whole log.

    Attributes:
        start_time_s: When logging began, seconds since the epoch; None where the log doesn't say.
        base_time_s: What ``Interval.start_s`` counts from; None where the log doesn't say.
        intervals: In the order of the file.
    """

    start_time_s: float | None
    base_time_s: float | None
    intervals: tuple[Interval, ...]

    def tags(self) -> set[str | None]:
        """All tags that occur, None for untagged lines."""
        return {interval.tag for interval in self.intervals}

    def tagged(self, tag: str | None) -> HdrLog:
        """The log of one tag alone."""
        chosen = tuple(interval for interval in self.intervals if interval.tag == tag)
        return dataclasses.replace(self, intervals=chosen)

    def accumulated(self) -> Histogram:
        """All intervals in one histogram of 3 digits, as HdrHistogram's own log tools add them up.

        Samples of a coarser histogram are placed at the low end of their bucket, which those tools do
        too. For logs of our own this is ``total()``.
        """
        total = self.total()
        layout = Layout(1, max(2, total.layout.highest), 3)
        if layout.lines_up_with(total.layout):
            return total
        used = np.flatnonzero(total.counts)
        counts = np.zeros(layout.length, np.int64)
        np.add.at(counts, layout.indices(total.layout.lows(used)), total.counts[used])
        return Histogram.from_counts(layout, counts)

    def total(self) -> Histogram:
        """All intervals merged, without loss.

        Raises:
            DecodeError: The log has no interval.
            UnlikeHistogramsError: The intervals differ in precision.
        """
        if not self.intervals:
            raise DecodeError("a log without intervals has no histogram")
        total = self.intervals[0].histogram.copy()
        for interval in self.intervals[1:]:
            total.merge(interval.histogram)
        return total

    def epoch_s(self, interval: Interval) -> float:
        """Start of an interval in seconds since the epoch, or from 0 where the log has no time at all.

        A log without a base time means absolute times unless they lie over a year before its start.
        """
        if self.base_time_s is not None:
            return self.base_time_s + interval.start_s
        start = self.start_time_s or 0.0
        return interval.start_s + (start if interval.start_s < start - _YEAR_S else 0.0)


class HdrLogWriter:
    """Writes a log line by line, each complete on disk before the call returns.

    Args:
        file: Open for text.
        start_time_s: Start of the run, seconds since the epoch; interval times count from it.
        comment: First line, what this log is about.
        units_per_ms: Histogram units in a millisecond: 1,000 for histograms in microseconds.
    """

    def __init__(
        self, file: TextIO, start_time_s: float, comment: str, units_per_ms: float = 1_000.0
    ) -> None:
        self._file = file
        self._units_per_ms = units_per_ms
        when = datetime.fromtimestamp(start_time_s, UTC).isoformat(sep=" ", timespec="milliseconds")
        file.write(f"#[{' '.join(comment.split())}]\n#[Histogram log format version 1.3]\n")
        instant = f"{start_time_s:.3f} (seconds since epoch), {when}"
        file.write(f"#[StartTime: {instant}]\n#[BaseTime: {instant}]\n")
        file.write('"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n')
        file.flush()

    def write(self, histogram: Histogram, start_s: float, length_s: float, tag: str | None = None) -> None:
        """Add one interval that began ``start_s`` seconds after the start of the run.

        Raises:
            ValueError: The tag is empty or has a comma or white space in it.
        """
        if tag is not None and (not tag or _BAD_IN_TAG.search(tag)):
            raise ValueError(f"tag {tag!r}; a tag has no comma and no white space")
        maximum = histogram.maximum / self._units_per_ms if histogram.n else 0.0
        prefix = f"Tag={tag}," if tag is not None else ""
        self._file.write(f"{prefix}{start_s:.3f},{length_s:.3f},{maximum:.3f},{encode(histogram)}\n")
        self._file.flush()


def read_log(path: Path) -> HdrLog:
    """Read a log file.

    Raises:
        DecodeError: A line is no interval; the message names file and line.
        OSError: The file can't be read.
    """
    try:
        return parse_log(path.read_text("utf-8"))
    except DecodeError as error:
        raise DecodeError(f"{path}: {error}") from error
    except UnicodeDecodeError as error:
        raise DecodeError(f"{path}: no text ({error.reason} at byte {error.start})") from error


def parse_log(text: str) -> HdrLog:
    """Read a log's text.

    Raises:
        DecodeError: A line is no interval; the message names the line.
    """
    times = {name: float(seconds) for name, seconds in _TIME.findall(text)}
    return HdrLog(times.get("StartTime"), times.get("BaseTime"), tuple(_intervals(text)))


def _intervals(text: str) -> Iterator[Interval]:
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line[0] in '#"':
            continue
        try:
            yield _interval(line)
        except DecodeError as error:
            raise DecodeError(f"line {number}: {error}") from error


def _interval(line: str) -> Interval:
    fields = line.split(",")
    tag = fields.pop(0).removeprefix("Tag=") if line.startswith("Tag=") else None
    if len(fields) != 4:
        raise DecodeError(f"{len(fields)} columns; start, length, maximum and histogram are wanted")
    try:
        start_s, length_s, maximum = (float(field) for field in fields[:3])
    except ValueError as error:
        raise DecodeError(f"start, length or maximum is no number ({error})") from error
    return Interval(tag, start_s, length_s, maximum, decode(fields[3]))
