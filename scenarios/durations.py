"""Durations as people write them (``500ms``, ``1.5s``, ``1h30m``), in integer nanoseconds."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer

from scenarios.errors import ScenarioError

UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)\s*(ns|us|µs|μs|ms|s|m|h)\s*", re.ASCII)
_WHOLE: Final = re.compile(rf"\+?(?:{_PART.pattern})+", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)", re.ASCII)
_LONGEST_NS: Final = 2**63 - 1
_GRAMMAR: Final = "write a number and a unit of ns, us, ms, s, m, h, such as 500ms, 1.5s or 1h30m"


def parse_duration(value: object) -> int:
    """Nanoseconds of a duration in Go's syntax: ``500ms``, ``1.5s``, ``2m``, ``1h30m``, ``10us``.

    Blanks may stand between numbers and units. A number without a unit is refused, since half of the field
    means seconds by it and the other half milliseconds; 0 alone needs none. Fractions of a nanosecond are
    rounded.

    Raises:
        ScenarioError: Not a duration, negative, or longer than 292 years.
    """
    if value == 0 and not isinstance(value, bool):
        return 0
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ScenarioError(_no_unit(value))
    if not isinstance(value, str):
        raise ScenarioError(f"{value!r} is not a duration; {_GRAMMAR}")
    return _parse_text(value.strip())


def _parse_text(text: str) -> int:
    if _NUMBER.fullmatch(text):
        if Fraction(text) == 0:
            return 0
        raise ScenarioError(_no_unit(text))
    if text.startswith("-"):
        raise ScenarioError(f"{text!r}: a duration can't be negative")
    if not _WHOLE.fullmatch(text):
        raise ScenarioError(f"{text!r} is not a duration; {_GRAMMAR}")
    parts = _PART.findall(text)
    total = round(sum((Fraction(number) * UNITS[unit] for number, unit in parts), Fraction(0)))
    if total > _LONGEST_NS:
        raise ScenarioError(f"{text!r} is longer than 292 years")
    return total


def _no_unit(value: object) -> str:
    number = str(value).removeprefix("-").removeprefix("+")
    return f"{value} has no unit; write {number}s for seconds or {number}ms for milliseconds"


def format_duration(duration_ns: int) -> str:
    """The shortest way to write ``duration_ns`` (>= 0) so that ``parse_duration`` gives it back."""
    hours, rest = divmod(duration_ns, UNITS["h"])
    minutes, rest = divmod(rest, UNITS["m"])
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else ""]
    if rest or duration_ns == 0:
        unit = next((unit for unit in ("s", "ms", "us") if rest >= UNITS[unit]), "ns" if rest else "s")
        number = Decimal(rest) / UNITS[unit]
        parts.append(f"{number.normalize():f}{unit}")
    return "".join(parts)


Duration = Annotated[
    int, BeforeValidator(parse_duration), PlainSerializer(format_duration, return_type=str, when_used="json")
]
"""A scenario field written as a duration and held as integer ns."""
