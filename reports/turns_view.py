"""Turns of conversations in words, for every output alike."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from reports.units import MISSING, quantity, scale_of
from reports.view import percentile_interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.conversations import Conversations, TurnSummary

COUNTS: Final = ("requests", "failed", "prompt tokens", "from cache")
TIMES: Final = ("ttft p50", "ttft p95", "ttft p99")
_MIN_GROUPS: Final = 2
"""With so many groups of later turns, all of them together have a line too."""


@dataclasses.dataclass(frozen=True)
class TurnLine:
    """Some turns, written: ``counts`` under ``COUNTS``; ``times`` and ``intervals`` under ``TIMES``."""

    turn: str
    counts: tuple[str, ...]
    times: tuple[str, ...]
    intervals: tuple[str, ...]


def title(conversations: Conversations | None) -> str:
    """Of the table."""
    num = 0 if conversations is None else conversations.num_begun
    return f"Turns of {num:,} conversation{'' if num == 1 else 's'}"


def lines(conversations: Conversations | None) -> Iterator[TurnLine]:
    """The first turn, all later ones together, and those by their number."""
    if conversations is None:
        return
    first = [turn for turn in conversations.turns if turn.first == 1]
    rest = [turn for turn in conversations.turns if turn.first > 1]
    later = conversations.later
    together = [later] if later is not None and len(rest) >= _MIN_GROUPS else []
    for turn in (*first, *together, *rest):
        yield _line(turn)


def _line(turn: TurnSummary) -> TurnLine:
    return TurnLine(
        turn=turn.label,
        counts=(
            f"{turn.num_requests:,}",
            f"{turn.num_failed:,}",
            MISSING if turn.prompt_tokens is None else f"{turn.prompt_tokens:,.0f}",
            MISSING if turn.cached_share is None else quantity(turn.cached_share, "share", 3),
        ),
        times=tuple(quantity(each.value, "ns", 4) for each in turn.ttft) or (MISSING,) * len(TIMES),
        intervals=tuple(percentile_interval(each, scale_of("ns", each.value)) for each in turn.ttft)
        or ("",) * len(TIMES),
    )
