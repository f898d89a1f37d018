"""Values that JSON has: what goes into a body as it is."""

from __future__ import annotations

import math

from scenarios.documents import Key, dotted
from scenarios.ranges import MAX_WHOLE


def json_fault(value: object, key: Key = ()) -> str | None:
    """Why ``value`` can't stand in a body, with the place in it; None where it can."""
    if isinstance(value, dict | list | tuple):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        faults = (json_fault(inner, (*key, name)) for name, inner in items)
        return next((each for each in faults if each is not None), None)
    fault = _fault(value)
    return None if fault is None else f"{dotted(key)}: {fault}"


def _fault(value: object) -> str | None:
    if isinstance(value, float):
        return None if math.isfinite(value) else f"JSON has no {value}; give a finite number, or take it out"
    if isinstance(value, int):
        return (
            None
            if abs(value) <= MAX_WHOLE
            else f"must be within 64 bits, not {value}; as text, put it in quotes"
        )
    if value is None or isinstance(value, str):
        return None
    return f"JSON has no {type(value).__name__} such as {value}; put it in quotes"
