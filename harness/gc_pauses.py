"""Garbage collection during a run: kept short, and measured."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from types import TracebackType

_THRESHOLDS: Final = (1_000, 5, 1_000_000)
_YOUNG: Final = 1
"""Generations 0 and 1: whatever survives is in 2, which no collection of these looks at."""


class GcPauses:
    """While entered, collections are short and timed.

    What is alive at the start is frozen, so no collection looks at it again. Young objects are collected
    often and in small numbers, some tens of microseconds each: by ``sweep``, since Python counts how many
    more there are than before, which is few where as many old ones go, and lets tens of thousands of young
    ones gather. A collection of everything is put off to the end: it would stop all streams for its time.

    Attributes:
        max_ns: The longest pause so far.
        total_ns: All of them together.
    """

    def __init__(self) -> None:
        self.max_ns = 0
        self.total_ns = 0
        self._begun_ns = 0
        self._thresholds = gc.get_threshold()

    def __enter__(self) -> Self:
        self._thresholds = gc.get_threshold()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_THRESHOLDS)
        gc.callbacks.append(self._clock)
        return self

    def sweep(self) -> None:
        """Collect what is young; to be called every 10 ms or so."""
        gc.collect(_YOUNG)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        gc.callbacks.remove(self._clock)
        gc.set_threshold(*self._thresholds)
        gc.unfreeze()

    def _clock(self, phase: str, _: dict[str, int]) -> None:
        now_ns = time.monotonic_ns()
        if phase == "start":
            self._begun_ns = now_ns
            return
        pause_ns = now_ns - self._begun_ns
        self.total_ns += pause_ns
        self.max_ns = max(self.max_ns, pause_ns)
