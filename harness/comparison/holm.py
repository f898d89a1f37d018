"""Many tests at once: Holm 1979."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def holm(chances: Sequence[float]) -> tuple[float, ...]:
    """Chances corrected for their number: at most as many as stated err in any of them.

    The smallest counts as many times as there are tests, the next one time less, and none less than the one
    before.
    """
    order = sorted(range(len(chances)), key=chances.__getitem__)
    corrected, highest = [0.0] * len(chances), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, chances[place] * (len(chances) - rank)))
        corrected[place] = highest
    return tuple(corrected)
