"""What can go wrong with a histogram.

HistogramError
    ValueOutOfRangeError   a value the histogram can't hold; nothing of the call was recorded
    NoSamplesError         a statistic was asked of an empty histogram
    UnlikeHistogramsError  a merge that would lose precision
    DecodeError            bytes, text or a log line that is no histogram
"""

from __future__ import annotations


class HistogramError(ValueError):
    """Base of everything below."""


class ValueOutOfRangeError(HistogramError):
    """A value the histogram can't hold; nothing of the call was recorded."""


class NoSamplesError(HistogramError):
    """A statistic was asked of an empty histogram."""


class UnlikeHistogramsError(HistogramError):
    """Two histograms whose buckets don't line up; merging them would lose precision."""


class DecodeError(HistogramError):
    """Bytes, text or a log line that is no histogram."""
