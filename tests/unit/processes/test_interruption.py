"""Signals that end a run, and what ends none."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any, cast

import pytest

from harness.interruption import Interruption
from harness.pytest import interrupted

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """As they were, whatever a test leaves."""
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def test_hanging_up_ends_a_run_however_often_it_is_said() -> None:
    """By the shell and by the kernel: the second one is none to end it at once, nor is one after it."""
    interruption = Interruption()
    with interruption.listening():
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0.01)
        assert interruption.stop.is_set()
    assert interruption.signal_name == "SIGHUP"
    os.kill(os.getpid(), signal.SIGHUP)


async def test_a_run_under_nohup_goes_on() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interruption = Interruption()
    with interruption.listening():
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0.01)
        assert not interruption.stop.is_set()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_pytest_ends_in_order(monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)
    noted: list[Any] = []
    monkeypatch.setattr(interrupted, "_note", noted.append)
    with pytest.raises(pytest.exit.Exception) as caught, interrupted.told(cast("pytest.Item", "test")):
        os.kill(os.getpid(), number)
    assert (caught.value.msg, noted) == (number.name, ["test"])


def test_a_stream_whose_terminal_is_closed_is_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness import closed_terminal

    master, terminal = os.openpty()
    monkeypatch.setattr(closed_terminal, "_STREAMS", (terminal,))
    try:
        terminals = closed_terminal.Terminals()
        terminals.leave_closed()
        assert os.isatty(terminal)
        os.close(master)
        with contextlib.suppress(OSError):
            os.write(terminal, b"x")
        terminals.leave_closed()
        assert os.write(terminal, b"x") == 1
    finally:
        os.close(terminal)
