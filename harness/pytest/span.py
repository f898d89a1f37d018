"""A length of time that compares with a text: ``request.ttft < "500ms"``."""

from __future__ import annotations

from scenarios.durations import parse_duration


class Span(float):
    """Nanoseconds. A number in every other respect; a text beside it is read as a duration.

    Raises:
        ScenarioError: A text is no duration.
    """

    __slots__ = ()
    __hash__ = float.__hash__

    def __lt__(self, other: object) -> bool:
        return float(self) < _ns(other)

    def __le__(self, other: object) -> bool:
        return float(self) <= _ns(other)

    def __gt__(self, other: object) -> bool:
        return float(self) > _ns(other)

    def __ge__(self, other: object) -> bool:
        return float(self) >= _ns(other)

    def __eq__(self, other: object) -> bool:
        return float(self) == (_ns(other) if isinstance(other, str) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __repr__(self) -> str:
        return f"{float(self) / 1e6:.6g}ms"


def _ns(other: object) -> float:
    if isinstance(other, str):
        return float(parse_duration(other))
    if isinstance(other, int | float):
        return float(other)
    raise TypeError(f"a time can be compared with '500ms' or with nanoseconds, not with {other!r}")
