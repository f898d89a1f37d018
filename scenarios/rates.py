"""Rates (``5``, ``5/s``, ``300/m``) in events per second, and shares (``0.01``, ``1%``) from 0 to 1."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator

from scenarios.errors import ScenarioError
from scenarios.ranges import MAX_RATE, MIN_RATE
from scenarios.section import fault

_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}
_RATE: Final = re.compile(r"(\d+\.?\d*|\.\d+)\s*/\s*([smh])", re.ASCII)
_SHARE: Final = re.compile(r"(\d+\.?\d*|\.\d+)\s*%", re.ASCII)


def parse_rate(value: object) -> float:
    """Events per second of ``5`` (per second), ``5/s``, ``300/m`` or ``100/h``.

    Raises:
        ScenarioError: Not a rate, not positive, or not finite.
    """
    rate = _number(value)
    if rate is None and isinstance(value, str) and (match := _RATE.fullmatch(value.strip())):
        rate = float(match[1]) / _SECONDS[match[2]]
    if rate is None:
        raise ScenarioError(f"{value!r} is not a rate; write 5 (per second), 5/s, 300/m or 100/h")
    if not 0 < rate < math.inf:
        raise ScenarioError(f"{value!r}: a rate must be finite and greater than 0")
    return rate


def parse_share(value: object) -> float:
    """A share from 0 to 1 of ``0.01`` or ``1%``.

    Raises:
        ScenarioError: Not a share, or outside 0 to 1.
    """
    share = _number(value)
    if share is None and isinstance(value, str) and (match := _SHARE.fullmatch(value.strip())):
        share = float(Fraction(match[1]) / 100)
    if share is None:
        raise ScenarioError(f"{value!r} is not a share; write 0.01 or 1%")
    if not 0 <= share <= 1:
        raise ScenarioError(f"{value!r}: a share lies between 0 and 1 (0% and 100%)")
    return share


def _number(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf if value > 0 else -math.inf


def _within_reach(rate: float) -> float:
    if not MIN_RATE <= rate <= MAX_RATE:
        raise fault(f"must be from {MIN_RATE:g} to {MAX_RATE:,.0f} per second, not {rate:g}")
    return rate


Rate = Annotated[float, BeforeValidator(parse_rate), AfterValidator(_within_reach)]
"""A scenario field written as a rate that requests can have, and held in events per second."""

Share = Annotated[float, BeforeValidator(parse_share)]
"""A scenario field written as a share and held as 0..1."""
