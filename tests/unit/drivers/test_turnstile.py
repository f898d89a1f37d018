"""Sockets are read between requests that begin together."""

from __future__ import annotations

import asyncio

from harness.drivers.turnstile import PER_TURN, Turnstile


async def _pass_together(num: int, cancelled: tuple[int, ...] = ()) -> list[tuple[int, int]]:
    """In which turn of the loop each of them passed."""
    turnstile, turn, passed = Turnstile(), 0, []

    async def comer(index: int) -> None:
        await turnstile.take()
        passed.append((index, turn))

    comers = [asyncio.create_task(comer(index)) for index in range(num)]
    await asyncio.sleep(0)
    for index in cancelled:
        comers[index].cancel()
    for turn in range(1, 100):  # noqa: B007 (the comers look at it)
        await asyncio.sleep(0)
    assert all(each.done() for each in comers)
    return passed


def test_a_crowd_passes_in_order_some_in_each_turn() -> None:
    passed = asyncio.run(_pass_together(5 * PER_TURN))
    assert [index for index, _ in passed] == list(range(5 * PER_TURN))
    turns = [turn for _, turn in passed]
    assert max(turns.count(turn) for turn in set(turns)) <= PER_TURN
    assert len(set(turns)) >= 5


def test_who_leaves_holds_up_nobody() -> None:
    gone = tuple(range(PER_TURN, 3 * PER_TURN))
    passed = asyncio.run(_pass_together(4 * PER_TURN, cancelled=gone))
    assert [index for index, _ in passed] == [*range(PER_TURN), *range(3 * PER_TURN, 4 * PER_TURN)]


def test_who_comes_alone_passes_at_once() -> None:
    async def come() -> int:
        turnstile, num_at_once = Turnstile(), 0
        for _ in range(3 * PER_TURN):
            task = asyncio.create_task(turnstile.take())
            await asyncio.sleep(0)
            num_at_once += task.done()
        return num_at_once

    assert asyncio.run(come()) == 3 * PER_TURN
