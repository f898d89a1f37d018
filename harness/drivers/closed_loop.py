"""Closed loop: a fixed number of slots, each sending its next request when the last has ended."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from harness.drivers.backoff import Backoff

if TYPE_CHECKING:
    from harness.client import Prepared
    from harness.drivers.load import Load


async def drive(load: Load) -> None:
    """Keep ``concurrency`` requests in flight until the schedule, its count or its duration is over.

    With conversations it is so many conversations, some of whose users think. A slot whose request got no
    reply at all waits before its next: a port where nobody listens refuses ten thousand a second. Slot i
    opens at i x ``ramp_ns`` / ``concurrency`` after the start. Returns when nothing more will be sent;
    requests still in flight then have the grace period.
    """
    concurrency = load.schedule.concurrency or 1
    load.spawn(_end_of_time(load))
    await load.pacer.until(load.start_ns)
    for slot in load.schedule.slots or range(concurrency):
        if load.schedule.ramp_ns:
            await load.pacer.until(load.start_ns + slot * load.schedule.ramp_ns // concurrency)
        if load.over.is_set():
            return
        load.spawn(_slot(load))
    await load.over.wait()


async def _slot(load: Load) -> None:
    backoff = Backoff()
    while not load.over.is_set() and not load.too_late and not load.is_stopped:
        due_ns = time.monotonic_ns()
        await load.turnstile.take()
        prepared = next(load.arrivals, None)
        if prepared is None:
            break
        await _converse(load, backoff, prepared, due_ns)
    load.check_over()


async def _converse(load: Load, backoff: Backoff, prepared: Prepared, due_ns: int) -> None:
    """Send a request, and the rest of its conversation."""
    turn: tuple[Prepared, int] | None = (prepared, due_ns)
    while turn is not None:
        prepared, due_ns = turn
        exchange = await load.send(prepared, due_ns)
        turn = await load.next_turn(prepared, exchange)
        wait_s = backoff.wait_s(replied=exchange.has_reply)
        if wait_s:
            load.facts.num_backoffs += 1
            await _over_within(load, wait_s)


async def _end_of_time(load: Load) -> None:
    """Say when the duration is over, even while every slot waits for an answer."""
    if load.last_send_ns is not None:
        await _over_within(load, (load.last_send_ns - time.monotonic_ns()) / 1e9)
        load.end_sending()


async def _over_within(load: Load, seconds: float) -> None:
    """Wait until nothing more is sent, no longer than that."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await load.over.wait()
