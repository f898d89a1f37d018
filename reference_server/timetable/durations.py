"""Durations as the command line and the request body write them: ``50ms``, ``1.5s``, ``1m30s``."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_UNITS_NS: Final = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|ms|s|m|h)", re.ASCII)
_LONGEST_NS: Final = 24 * _UNITS_NS["h"]


class Duration(int):
    """Integer nanoseconds, written with a unit wherever a person writes them."""


def parse_duration(written: object) -> Duration:
    """A duration between 0 and 24 h; 0 alone needs no unit.

    Raises:
        ValueError: No number and unit, or too long.

    >>> parse_duration("1.5ms")
    1500000
    """
    text = str(written).strip()
    if text == "0":
        return Duration(0)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(
            f"{written!r} is no duration; write a number and a unit, such as 50ms, 1.5s or 100us"
        )
    total = round(sum((Fraction(number) * _UNITS_NS[unit] for number, unit in parts), Fraction(0)))
    if total > _LONGEST_NS:
        raise ValueError(f"{written!r} is longer than 24 hours")
    return Duration(total)


def format_duration(duration_ns: int) -> str:
    """In the largest unit up to seconds that needs no fraction.

    >>> format_duration(50_000_000)
    '50ms'
    """
    if duration_ns == 0:
        return "0"
    unit = next(unit for unit in ("s", "ms", "us", "ns") if duration_ns % _UNITS_NS[unit] == 0)
    return f"{duration_ns // _UNITS_NS[unit]}{unit}"
