"""Which requests belong to a share that is judged."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from harness.rates import ATTAINMENT, CLASS_OF

if TYPE_CHECKING:
    from harness.record import Record


def mark(share: str, record: Record, *, met: bool | None) -> float:
    """1 for a request that belongs to the share, 0 for another one; not a number for one that is left out.

    Args:
        share: A name of ``harness.rates`` with the unit ``share``.
        record: A measured request.
        met: Whether it met its objectives; None where that can't be said.
    """
    if share == ATTAINMENT:
        return math.nan if met is None else float(met)
    outcome = record.outcome
    if not outcome.succeeded and not outcome.failed:
        return math.nan
    return float(outcome.failed if share not in CLASS_OF else outcome.value == CLASS_OF[share])
