"""How a number is written: the one place where digits are chosen.

Latencies are written in the unit a reader would say them in, with four significant digits: a histogram
holds three. Beside a limit a value gets as many digits as it takes to show on which side it lies.
"""

from __future__ import annotations

import dataclasses
import math

MISSING = "–"  # noqa: RUF001 (an en dash is meant)

_TIME_SCALES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_MAX_DECIMALS = 12


@dataclasses.dataclass(frozen=True)
class Scale:
    """A unit to write in.

    Attributes:
        label: ``ms``, ``%``, ``tokens/s``, ...
        divisor: How many of the stored unit it is.
    """

    label: str
    divisor: float

    def number(self, value: float | None, digits: int = 4) -> str:
        """``value``, given in the stored unit, without the label; what isn't all is never 100 %."""
        if value is None:
            return MISSING
        shown = significant(value / self.divisor, digits)
        if self.label == "%" and value < 1 and digits < _MAX_DECIMALS and _parse(shown) == 100:
            return self.number(value, digits + 1)
        return shown

    def text(self, value: float | None, digits: int = 4) -> str:
        """``value``, given in the stored unit, with the label."""
        return MISSING if value is None else self.join(self.number(value, digits))

    def join(self, number: str) -> str:
        """A number and its label."""
        if not self.label:
            return number
        return f"{number} {self.label}"


def scale_of(unit: str, value: float | None) -> Scale:
    """The scale in which ``value``, stored in ``unit``, is best written."""
    if unit == "ns":
        magnitude = abs(value or 0.0)
        return next(
            (Scale(label, size) for size, label in _TIME_SCALES if magnitude >= size), Scale("ms", 1e6)
        )
    if unit == "share":
        return Scale("%", 0.01)
    return Scale(unit, 1.0)


def quantity(value: float | None, unit: str, digits: int = 4) -> str:
    """``value``, stored in ``unit``, with the unit a reader would use: ``52.1 ms``, ``98.8 %``."""
    return scale_of(unit, value).text(value, digits)


def significant(value: float, digits: int = 4) -> str:
    """``value`` with that many significant digits and at most as many decimals; whole numbers whole."""
    if not math.isfinite(value):
        return MISSING
    if value == int(value) and abs(value) < 1e15:
        return grouped(f"{int(value)}")
    exponent = math.floor(math.log10(abs(value)))
    decimals = min(max(0, digits - 1 - exponent), _MAX_DECIMALS)
    return grouped(f"{value:.{decimals}f}")


def grouped(number: str) -> str:
    """A decimal number with thousands parted from 10,000 on."""
    whole, dot, fraction = number.partition(".")
    if len(whole.lstrip("-")) < 5:
        return number
    return f"{int(whole):,}{dot}{fraction}"


def against(value: float | None, limit: float, unit: str) -> tuple[str, str]:
    """``value`` and ``limit`` in one unit, with digits enough that their order can be read.

    499.96 ms against 500 ms is written 499.96 and not 500.0.
    """
    scale = scale_of(unit, limit)
    if value is None:
        return MISSING, scale.text(limit, 6)
    shown_limit = _plain(limit / scale.divisor)
    for digits in range(4, 18):
        shown = significant(value / scale.divisor, digits)
        if _order(_parse(shown), _parse(shown_limit)) == _order(value, limit):
            return scale.join(shown), scale.join(shown_limit)
    return scale.join(repr(value / scale.divisor)), scale.join(shown_limit)


def fixed(values: list[float | None], scale: Scale, limits: list[float]) -> list[str]:
    """A row of numbers with equally many decimals: three significant digits for the first.

    More where a rounded value would lie on the other side of one of ``limits``.
    """
    first = next((value for value in values if value), 1.0) / scale.divisor
    decimals = min(max(0, 2 - math.floor(math.log10(abs(first)))), _MAX_DECIMALS)
    if all(value is None or (value / scale.divisor).is_integer() for value in values):
        decimals = 0
    while decimals < _MAX_DECIMALS and any(
        _order(round(value / scale.divisor, decimals), limit / scale.divisor) != _order(value, limit)
        for value in values
        if value is not None
        for limit in limits
    ):
        decimals += 1
    return [
        MISSING if value is None else grouped(f"{value / scale.divisor:.{decimals}f}") for value in values
    ]


def margin(value: float | None, limit: float, unit: str, *, upper: bool) -> str:
    """How far ``value`` lies on the good side of ``limit``: ``+78.1 ms (+15.6 %)``; negative on the bad.

    Args:
        value: What was observed.
        limit: The limit.
        unit: Of both.
        upper: True where smaller is better.
    """
    if value is None:
        return MISSING
    room = limit - value if upper else value - limit
    text = scale_of(unit, room).text(room, 3)
    if unit == "share":
        text = text.replace("%", "points")
    sign = "+" if room >= 0 else ""
    share = f" ({sign}{significant(100 * room / abs(limit), 3)} %)" if limit and unit != "share" else ""
    return f"{sign}{text}{share}"


def duration(seconds: float) -> str:
    """A length of time for people: ``0.4 s``, ``34.2 s``, ``12 min 05 s``, ``2 h 03 min``."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def _plain(value: float) -> str:
    """All digits a limit was written with, without binary dust."""
    return grouped(f"{value:.10f}".rstrip("0").rstrip("."))


def _parse(number: str) -> float:
    return float(number.replace(",", ""))


def _order(one: float, other: float) -> int:
    return (one > other) - (one < other)
