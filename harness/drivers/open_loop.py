"""Open loop: every arrival at its own due time, whatever the server does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.drivers.pacer import Pacer
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
    """
    pacer = Pacer()
    slots = Slots(load.schedule.max_in_flight)
    try:
        for prepared in load.arrivals:
            due_ns = load.start_ns + (prepared.due_ns or 0)
            await pacer.until(due_ns)
            if load.is_stopped:
                return
            if load.too_late or not await slots.take(load.last_send_ns):
                load.drop_rest()
                return
            load.spawn(_send(load, slots, prepared, due_ns))
    finally:
        pacer.close()


async def _send(load: Load, slots: Slots, prepared: Prepared, due_ns: int) -> None:
    try:
        await load.send(prepared, due_ns)
    finally:
        slots.free()
