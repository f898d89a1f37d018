"""Open loop: every arrival at its own due time, whatever the server does."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from harness.drivers.slots import Slots

if TYPE_CHECKING:
    from harness.client import Prepared
    from harness.drivers.load import Load


async def drive(load: Load) -> None:
    """Send each arrival at its due time, on one absolute schedule.

    A driver that is late sends at once what is overdue and never moves a due time, so lateness shows
    as schedule lag and in every response time. With ``max_in_flight``, an arrival waits for a slot in
    order of due times and is sent even after ``duration_ns``, as long as the grace period lasts; what is
    still waiting then is counted as dropped.

    Where arrivals begin conversations, their later turns follow their answers and think times; the arrivals
    wait for none of them. Returns when nothing more will be due.
    """
    slots = Slots(load.schedule.max_in_flight)
    for prepared in load.arrivals:
        due_ns = load.start_ns + (prepared.due_ns or 0)
        await load.pacer.until(due_ns)
        if load.is_stopped:
            return
        if load.too_late or not await slots.take(load.last_send_ns):
            load.drop_rest()
            return
        load.spawn(_send(load, slots, prepared, due_ns))
    load.check_over()
    await _later_turns(load)


async def _send(load: Load, slots: Slots, prepared: Prepared, due_ns: int) -> None:
    """Send a request that has a slot, and the rest of its conversation, each turn with a slot of its own."""
    while True:
        try:
            exchange = await load.send(prepared, due_ns)
        finally:
            slots.free()
        turn = await load.next_turn(prepared, exchange)
        if turn is None:
            return
        prepared, due_ns = turn
        if not await slots.take(load.last_send_ns):
            load.drop(prepared)
            return


async def _later_turns(load: Load) -> None:
    """Wait until all have been sent or the duration is over."""
    duration_ns = load.schedule.duration_ns
    left_s = None if duration_ns is None else (load.start_ns + duration_ns - time.monotonic_ns()) / 1e9
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(left_s):
            await load.over.wait()
