"""Drivers send a schedule. A driver knows no scenario, no endpoint and no socket.

A driver is a file of this folder with ``drive(load: Load) -> None``. ``Schedule.loop`` names it:
``open`` is ``open_loop.py``, ``closed`` is ``closed_loop.py``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from harness.digest import Digest
from harness.drivers.brake import Brake
from harness.drivers.facts import LoadFacts
from harness.drivers.load import Load

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from harness.client import Client
    from harness.record import Record
    from scenarios.schedule import Schedule

__all__ = ["Brake", "LoadFacts", "generate"]


async def generate(
    schedule: Schedule,
    client: Client,
    on_record: Callable[[Record], None],
    stop: asyncio.Event,
    *,
    facts: LoadFacts | None = None,
    brake: Brake | None = None,
    start_ns: int | None = None,
    samples: int = 0,
    drive: Callable[[Load], Awaitable[None]] | None = None,
) -> LoadFacts:
    """Send the schedule and hand over a ``Record`` for each request that was begun.

    Returns once every request has ended and every record has been handed over. Requests still in
    flight when the grace period is over, or when ``stop`` is set, end as ``cut``. A limit of
    ``schedule.stop`` ends the sending early; the grace period begins then.

    Args:
        schedule: What to send when. Its arrivals are consumed.
        client: How to send it. Stays open.
        on_record: Called on the loop for each request, in order of their ends. An exception ends the run.
        stop: Set it to end the run now: nothing more is sent, what is in flight is cut.
        facts: Filled while the run goes on, for a live display; a new one by default.
        brake: For a caller that wants to end the sending itself; a new one by default.
        start_ns: Instant of the monotonic clock that due times count from; now by default.
        samples: So many requests, the first ones, keep prompt and answer as text.
        drive: The driver; by default the one that the schedule names.

    Raises:
        Exception: What ``on_record`` raised, or the schedule's own iterator.
    """
    drive = drive or importlib.import_module(f"harness.drivers.{schedule.loop}_loop").drive
    facts = facts if facts is not None else LoadFacts()
    facts.begin(schedule.planned_rate, start_ns)
    brake = brake if brake is not None else Brake(schedule.stop, facts)

    def keep(record: Record) -> None:
        on_record(record)
        brake.ended(record)

    digest = Digest(client, keep, origin_ns=facts.started_ns, samples=samples)
    load = Load(schedule, client, digest, facts, stop, brake)
    try:
        await load.run(drive)
    finally:
        facts.finish()
        await digest.close()
    return facts
