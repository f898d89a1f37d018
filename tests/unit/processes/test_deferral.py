"""Signals that come while what was measured is written act when it is."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from harness import __main__ as entry
from harness.deferral import Deferral
from harness.interruption import Interruption


async def _writes_meanwhile(number: int, written: list[str]) -> None:
    """As a run does: it listens while load is sent, and then writes."""
    deferral = Deferral()
    with deferral.holding():
        with Interruption().listening():
            await asyncio.sleep(0)
        os.kill(os.getpid(), number)
        written.append("all")
        deferral.folder = "results/x"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_reports_are_finished_and_the_exit_code_is_the_signals(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    number = signal.Signals[name]
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for each in before:
        signal.signal(each, signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL)
    written: list[str] = []
    monkeypatch.setattr("harness.cli.main", lambda: asyncio.run(_writes_meanwhile(number, written)))
    try:
        with pytest.raises(SystemExit) as ended:
            entry.main()
        assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    said = capsys.readouterr().err
    assert (ended.value.code, written) == (128 + number, ["all"])
    assert said.startswith(f"tokenpace: {name} came while reports were written; all are in results/x\n")


def test_a_second_one_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr("os._exit", left.append)
    deferral = Deferral()

    def write() -> None:
        with deferral.holding():
            signal.raise_signal(signal.SIGINT)
            assert (deferral.signal_name, left) == ("SIGINT", [])
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        write()
    assert left == [143]


def test_one_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Deferral().holding():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
