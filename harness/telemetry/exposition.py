"""Reads the text in which servers show their metrics (Prometheus text format 0.0.4, OpenMetrics 1.0).

Tolerant: a line that can't be read is passed over, since one strange metric must not hide the rest.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

_MAX_LINE = 16_384
_SAMPLE = re.compile(
    r'([A-Za-z_:][\w:]*+)[ \t]*+(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*+")*+)\})?[ \t]*+(\S++)', re.ASCII
)
_LABEL = re.compile(r'\s*+([A-Za-z_]\w*+)\s*+=\s*+"((?:[^"\\]|\\.)*+)"\s*+,?', re.ASCII)
_ESCAPE = re.compile(r"\\(.)")


class Sample(NamedTuple):
    """One line.

    Attributes:
        labels: By name.
        value: Finite.
    """

    labels: dict[str, str]
    value: float


Exposition = dict[str, list[Sample]]
"""The samples by name."""


def parse(text: str, wanted: Collection[str] | None = None) -> Exposition:
    """The samples of a page; empty if it holds none.

    Args:
        text: The page.
        wanted: Names to read, None for all. All other lines cost next to nothing.

    Returns:
        By name. Values that are NaN or infinite are left out. Timestamps and exemplars are passed over.
    """
    found: Exposition = {}
    for line in _lines(text, wanted):
        match = _SAMPLE.match(line)
        value = None if match is None else _number(match[3])
        if match is not None and value is not None and (wanted is None or match[1] in wanted):
            found.setdefault(match[1], []).append(Sample(_labels(match[2] or ""), value))
    return found


def _lines(text: str, wanted: Collection[str] | None) -> list[str]:
    """Lines that may be samples."""
    lines = [line for line in text.split("\n") if len(line) <= _MAX_LINE]
    if wanted is None:
        return [line for line in lines if line[:1] != "#"]
    beginnings = tuple(wanted)
    return [line for line in lines if line.startswith(beginnings)]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _labels(text: str) -> dict[str, str]:
    return {match[1]: _ESCAPE.sub(_unescaped, match[2]) for match in _LABEL.finditer(text)}


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]
