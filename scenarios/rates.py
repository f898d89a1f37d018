"""Rates (``5``, ``5/s``, ``300/m``) in events per second, and shares (``0.01``, ``1%``) from 0 to 1."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Annotated, Final

from pydantic import BeforeValidator

from scenarios.errors import ScenarioError

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
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


Rate = Annotated[float, BeforeValidator(parse_rate)]
"""A scenario field written as a rate and held in events per second."""

Share = Annotated[float, BeforeValidator(parse_share)]
"""A scenario field written as a share and held as 0..1."""
