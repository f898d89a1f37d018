"""Whoever waits for a run and is interrupted lets it end in order, and has what it left."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from harness.interruption import Interruption
from harness.pytest.own_thread import OwnThread


def _thread(begun: threading.Event, *, deaf: bool = False) -> tuple[OwnThread[str | None], Interruption]:
    interruption = Interruption()

    async def main() -> str | None:
        begun.set()
        await (asyncio.Event().wait() if deaf else interruption.stop.wait())
        return interruption.signal_name

    return OwnThread(main, interruption.tell), interruption


def _interrupt_once(begun: threading.Event, times: int = 1) -> threading.Thread:
    def send() -> None:
        begun.wait(10)
        for _ in range(times):
            threading.Event().wait(0.2)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    return sender


def test_an_interrupt_ends_it_in_order() -> None:
    begun = threading.Event()
    thread, _ = _thread(begun)
    sender = _interrupt_once(begun)
    with pytest.raises(KeyboardInterrupt):
        thread.wait()
    sender.join()
    assert thread.left == "SIGINT"


def test_a_second_interrupt_ends_it_at_once() -> None:
    begun = threading.Event()
    thread, _ = _thread(begun, deaf=True)
    sender = _interrupt_once(begun, times=2)
    with pytest.raises(KeyboardInterrupt):
        thread.wait()
    sender.join()
    assert thread.left is None


def test_a_cancellation_ends_it_in_order() -> None:
    thread, _ = _thread(threading.Event())

    async def test() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(thread.waited(), 0.2)

    asyncio.run(test())
    assert thread.left == "a cancellation"


def test_what_fails_by_itself_left_nothing() -> None:
    async def main() -> str:
        raise ValueError("gone")

    interruption = Interruption()
    thread = OwnThread(main, interruption.tell)
    with pytest.raises(ValueError, match="gone"):
        thread.wait()
    assert thread.left is None
    assert interruption.signal_name is None
