"""How much worse a figure may be: ``ttft p95 10%``, ``error_rate 1 point``, ``5%`` for all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from harness.comparison.errors import ComparisonError
from harness.comparison.figure import Figure, matching

if TYPE_CHECKING:
    from collections.abc import Iterable

RELATIVE: Final = 0.05
POINTS: Final = 0.01
_ALLOWANCE: Final = re.compile(
    r"(?:(?P<figure>[^\W\d].*?)(?:\s+|(?=[+-])))?(?P<sign>[+-]?)\s*"
    r"(?P<amount>\d+(?:\.\d+)?|\.\d+)\s*(?P<unit>%|points?)",
    re.ASCII,
)
_MOST: Final = 1000.0


class Allowances:
    """The allowed change of each figure: a share of A's value, or for shares a difference.

    5 % and 1 point where nothing else is said; a later statement takes the place of an earlier one, and one
    on a figure that of one on all.

    Args:
        texts: As written.

    Raises:
        ComparisonError: One of them is no allowance.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._relative, self._points = RELATIVE, POINTS
        self._named: dict[Figure, float] = {}
        for text in texts:
            self._take(text)

    @classmethod
    def of_rules(cls, allowed: Iterable[tuple[Figure, float]]) -> Allowances:
        """Those of some figures; the usual ones for all others."""
        made = cls()
        for figure, amount in allowed:
            made._named[figure] = min(amount, made._named.get(figure, amount))
        return made

    @property
    def named(self) -> tuple[Figure, ...]:
        """The figures that were named."""
        return tuple(self._named)

    def of(self, figure: Figure) -> float:
        """0.05 for 5 %, 0.01 for a point."""
        return self._named.get(figure, self._points if figure.is_share else self._relative)

    def _take(self, text: str) -> None:
        match = _ALLOWANCE.fullmatch(text.strip())
        if match is None:
            raise ComparisonError(
                f"--allow '{text}': write 'ttft p95 10%', 'error_rate 1 point', or '5%' for all"
            )
        if match["sign"] == "-":
            raise ComparisonError(
                f"--allow '{text}': a figure may be so much worse, whichever way that is; write it without "
                "the sign"
            )
        amount, is_points = float(match["amount"]) / 100, match["unit"] != "%"
        if match["figure"] is None:
            self._set_all(amount, is_points=is_points)
            return
        for figure in matching(match["figure"]):
            self._named[figure] = checked(figure, amount, is_points=is_points)

    def _set_all(self, amount: float, *, is_points: bool) -> None:
        """By the strictest of its kind: of rates, 100 % less is nothing at all."""
        if amount >= 1:
            raise ComparisonError(_everything(amount, "all figures", is_points=is_points))
        if is_points:
            self._points = amount
        else:
            self._relative = amount


def checked(figure: Figure, amount: float, *, is_points: bool) -> float:
    """The amount, if that figure can have such an allowance.

    Raises:
        ComparisonError: It has another unit, or can't be meant.
    """
    if is_points != figure.is_share:
        wanted = "points, such as '1 point'" if figure.is_share else "per cent, such as '10%'"
        raise ComparisonError(f"what is allowed of {figure} is told in {wanted}")
    most = 1.0 if is_points or not figure.larger_is_worse else _MOST
    if amount >= most:
        raise ComparisonError(_everything(amount, str(figure), is_points=is_points))
    return amount


def _everything(amount: float, of: str, *, is_points: bool) -> str:
    unit = "points" if is_points else "%"
    return f"{100 * amount:,.12g} {unit} of {of} would allow everything; allow less"
