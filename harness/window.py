"""The measured part of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from harness.record import Record
    from scenarios.schedule import Schedule


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """From the end of warm-up to the beginning of cool-down, in ns after the start of the run.

    A request is measured when it was due inside. Tokens are counted when they arrived inside, whichever
    request they belong to.

    Attributes:
        start_ns: First instant that is measured.
        end_ns: First instant after it; None where the last answer ends the run.
        fixed: Whether time alone ends it. If a number of requests may, the window closes with the last
            answer where that comes earlier.
        warmup_requests: The first so many requests are warm-up; ``start_ns`` is known after the run.
        auto_warmup: Likewise, by the times of the run.
    """

    start_ns: int = 0
    end_ns: int | None = None
    fixed: bool = False
    warmup_requests: int = 0
    auto_warmup: bool = False

    def contains(self, at_ns: int) -> bool:
        """Whether that instant lies inside."""
        return self.start_ns <= at_ns and (self.end_ns is None or at_ns < self.end_ns)

    def measures(self, record: Record) -> bool:
        """Whether the request was due inside."""
        return self.contains(record.due_ns)

    def closed(self, ended_ns: int, *, interrupted: bool = False) -> tuple[int, int]:
        """Start and end when the run is over; equal where it ended in warm-up.

        Args:
            ended_ns: When the last request of the run ended.
            interrupted: Whether the run was broken off, so that not even a fixed window was filled.
        """
        end_ns = ended_ns if self.end_ns is None else self.end_ns
        if not self.fixed or interrupted:
            end_ns = min(end_ns, ended_ns)
        return self.start_ns, max(self.start_ns, end_ns)


def window_of(schedule: Schedule) -> Window:
    """The window that a schedule asks for."""
    end_ns = None if schedule.duration_ns is None else schedule.duration_ns - schedule.cooldown_ns
    fixed = end_ns is not None and schedule.num_requests is None
    return Window(
        start_ns=schedule.warmup_ns,
        end_ns=end_ns,
        fixed=fixed,
        warmup_requests=schedule.warmup_requests,
        auto_warmup=schedule.auto_warmup,
    )
