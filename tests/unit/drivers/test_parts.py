"""Pacer, timers and slots."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest

from harness.drivers.pacer import Pacer
from harness.drivers.slots import Slots
from harness.event_loop import run
from harness.kernel_timer import KernelTimer, LoopTimer, new_timer

TIMERS = [LoopTimer, *([KernelTimer] if sys.platform == "linux" else [])]


def test_a_pacer_is_never_early() -> None:
    async def main() -> list[int]:
        pacer, lags = Pacer(), []
        start_ns = time.monotonic_ns()
        for number in range(100):
            due_ns = start_ns + number * 1_300_000
            await pacer.until(due_ns)
            lags.append(time.monotonic_ns() - due_ns)
        pacer.close()
        return lags

    for lags in (run(main()), asyncio.run(main())):
        assert min(lags) >= 0
        assert sorted(lags)[50] < 3_000_000


def test_a_pacer_lets_others_run_when_it_is_late() -> None:
    async def main() -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task, pacer = asyncio.ensure_future(count()), Pacer()
        for _ in range(50):
            await pacer.until(0)
        task.cancel()
        pacer.close()
        return turns

    assert asyncio.run(main()) >= 49


@pytest.mark.parametrize("timer_class", TIMERS)
@pytest.mark.parametrize("runner", [run, asyncio.run])
def test_arming_again_replaces_the_time(timer_class: type[LoopTimer | KernelTimer], runner: object) -> None:
    async def main() -> list[float]:
        begun_s, calls = time.monotonic(), list[float]()
        timer = timer_class(lambda: calls.append(time.monotonic() - begun_s))
        timer.arm(time.monotonic_ns() + 10_000_000)
        timer.arm(time.monotonic_ns() + 60_000_000)
        await asyncio.sleep(0.15)
        timer.arm(0)
        await asyncio.sleep(0.05)
        timer.arm(time.monotonic_ns() + 20_000_000)
        timer.close()
        await asyncio.sleep(0.05)
        return calls

    assert callable(runner)
    first_s, second_s = runner(main())
    assert first_s >= 0.058
    assert second_s >= 0.145


async def test_the_best_timer_of_this_platform() -> None:
    timer = new_timer(lambda: None)
    assert isinstance(timer, KernelTimer if sys.platform == "linux" else LoopTimer)
    timer.close()


async def test_slots_are_granted_in_order() -> None:
    slots, granted = Slots(1), list[int]()

    async def take(number: int) -> None:
        assert await slots.take(None)
        granted.append(number)

    tasks = [asyncio.ensure_future(take(number)) for number in range(4)]
    for _ in range(4):
        await asyncio.sleep(0)
        slots.free()
    await asyncio.gather(*tasks)
    assert granted == [0, 1, 2, 3]


async def test_a_slot_that_comes_too_late_is_not_lost() -> None:
    slots = Slots(1)
    assert await slots.take(None)
    assert not await slots.take(time.monotonic_ns() + 10_000_000)
    slots.free()
    assert await slots.take(time.monotonic_ns() + 10_000_000)


async def test_a_cancelled_waiter_takes_no_slot() -> None:
    slots = Slots(1)
    assert await slots.take(None)
    waiting = asyncio.ensure_future(slots.take(None))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    slots.free()
    assert await slots.take(time.monotonic_ns() + 10_000_000)
