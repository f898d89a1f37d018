"""The time limits of one exchange, by one timer that is set anew only when it goes off."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from harness.timeline import END_WAIT_NS, End

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.timeline import Timeline
    from scenarios.timeouts import Timeouts

_WAITED_FOR: Final = {"first_token": "first token", "idle": "further byte", "total": "end of the answer"}
_END_LOOK_NS: Final = 1_000_000_000
"""How often a look is taken whether a stream is over of which no mark was seen, as where a read cut it."""
_SLACK_S: Final = 0.001
"""uvloop's timers may go off half a millisecond early."""


class Watchdog:
    """Ends an exchange that takes too long. Costs nothing while bytes arrive.

    Args:
        timeline: The exchange; its request has just been sent.
        timeouts: How long to wait for what.
        last_read_ns: Tells the time of the latest socket read, 0 before the first.
        abort: Called after the timeline has ended as ``TIMEOUT``.
        catch_up: Called before a look: the timeline gets what has come so far.
    """

    def __init__(
        self,
        timeline: Timeline,
        timeouts: Timeouts,
        last_read_ns: Callable[[], int],
        abort: Callable[[], None],
        catch_up: Callable[[], None] = lambda: None,
    ) -> None:
        self._timeline = timeline
        self._timeouts = timeouts
        self._last_read_ns = last_read_ns
        self._abort = abort
        self._catch_up = catch_up
        sent_ns = timeline.sent_ns or time.monotonic_ns()
        self._first_token_ns = sent_ns + timeouts.first_token
        self._total_ns = sent_ns + timeouts.total
        self._timer: asyncio.TimerHandle | None = None
        self._end_timer: asyncio.TimerHandle | None = None
        timeline.on_end_mark = self._expect_end
        self._look()

    def stop(self) -> None:
        """The exchange is over."""
        self._timeline.on_end_mark = None
        for timer in (self._timer, self._end_timer):
            if timer is not None:
                timer.cancel()
        self._timer = self._end_timer = None

    def _expect_end(self) -> None:
        """The stream may be over: the body should be, too, before long."""
        if self._end_timer is None:
            self._look_for_end_in(END_WAIT_NS)

    def _look_for_end_in(self, delay_ns: int) -> None:
        delay_s = delay_ns / 1e9 + _SLACK_S
        self._end_timer = asyncio.get_running_loop().call_later(delay_s, self._look_for_end)

    def _look_for_end(self) -> None:
        self._end_timer = None
        self._catch_up()
        now_ns, over_ns = time.monotonic_ns(), self._timeline.over_ns()
        if over_ns is None or self._timeline.end is not None:  # the mark was in the text, or the end has come
            return
        if now_ns < over_ns + END_WAIT_NS:
            self._look_for_end_in(over_ns + END_WAIT_NS - now_ns)
        else:
            self._leave_open(now_ns)

    def _leave_open(self, now_ns: int) -> None:
        message = f"the body didn't end within {END_WAIT_NS / 1e9:g} s of its stream"
        self._timeline.close(End.LEFT_OPEN, now_ns, "", message)
        self._abort()

    def _look(self) -> None:
        """End the exchange if a limit has passed, else come back when the next one may have."""
        self._timer = None
        self._catch_up()
        if self._timeline.end is not None:
            return
        now_ns = time.monotonic_ns()
        if self._is_silent(now_ns) and self._timeline.over_ns() is not None:
            self._leave_open(now_ns)
            return
        limit = self._passed(now_ns)
        if limit is None:
            delay_s = (self._next_look_ns(now_ns) - now_ns) / 1e9 + _SLACK_S
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._look)
            return
        seconds = getattr(self._timeouts, limit) / 1e9
        self._timeline.close(End.TIMEOUT, now_ns, limit, f"no {_WAITED_FOR[limit]} within {seconds:g} s")
        self._abort()

    def _passed(self, now_ns: int) -> str | None:
        if now_ns >= self._total_ns:
            return "total"
        if now_ns >= self._first_token_ns and not self._timeline.has_token():
            return "first_token"
        last_ns = self._last_read_ns()
        if last_ns and now_ns >= last_ns + self._timeouts.idle and self._timeline.has_token():
            return "idle"
        return None

    def _is_silent(self, now_ns: int) -> bool:
        last_ns = self._last_read_ns()
        return bool(last_ns) and now_ns >= last_ns + min(END_WAIT_NS, self._timeouts.idle)

    def _next_look_ns(self, now_ns: int) -> int:
        """The earliest time at which a limit can pass, whatever arrives until then."""
        idle_ns = self._last_read_ns() + self._timeouts.idle
        if idle_ns <= now_ns:  # no read yet, or none that bore a token
            idle_ns = now_ns + self._timeouts.idle
        if self._first_token_ns > now_ns:
            idle_ns = min(idle_ns, self._first_token_ns)
        return min(idle_ns, self._total_ns, now_ns + _END_LOOK_NS)
