"""Closed loop: a fixed number of slots, each sending its next request when the last has ended."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from harness.drivers.backoff import Backoff
from harness.drivers.pacer import Pacer

if TYPE_CHECKING:
    from harness.drivers.load import Load


async def drive(load: Load) -> None:
    """Keep ``concurrency`` requests in flight until the schedule, its count or its duration is over.

    A slot whose request got no reply at all waits before its next: a port where nobody listens refuses ten
    thousand a second. Slot i opens at i x ``ramp_ns`` / ``concurrency`` after the start. Returns when
    nothing more will be sent; requests still in flight then have the grace period.
    """
    over = asyncio.Event()
    pacer = Pacer()
    concurrency = load.schedule.concurrency or 1
    load.spawn(_end_of_time(load, over))
    try:
        for slot in range(concurrency):
            if load.schedule.ramp_ns:
                await pacer.until(load.start_ns + slot * load.schedule.ramp_ns // concurrency)
            if over.is_set():
                return
            load.spawn(_slot(load, over))
        await over.wait()
    finally:
        pacer.close()


async def _slot(load: Load, over: asyncio.Event) -> None:
    backoff = Backoff()
    while not over.is_set() and not load.too_late and not load.is_stopped:
        due_ns = time.monotonic_ns()
        prepared = next(load.arrivals, None)
        if prepared is None:
            break
        wait_s = backoff.wait_s(replied=await load.send(prepared, due_ns))
        if wait_s:
            load.facts.num_backoffs += 1
            await _over_within(over, wait_s)
    over.set()


async def _end_of_time(load: Load, over: asyncio.Event) -> None:
    """Say when the duration is over, even while every slot waits for an answer."""
    if load.last_send_ns is None:
        return
    await _over_within(over, (load.last_send_ns - time.monotonic_ns()) / 1e9)
    over.set()


async def _over_within(over: asyncio.Event, seconds: float) -> None:
    """Wait until it is over, no longer than that."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await over.wait()
