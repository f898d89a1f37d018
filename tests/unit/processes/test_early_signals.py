"""SIGTERM where no run is there to take it: before the first, and between two of them."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest

from harness import __main__ as entry

if TYPE_CHECKING:
    from collections.abc import Iterator

MESSAGE = "tokenpace: ended by SIGTERM while no load was being sent\n"


@pytest.fixture(autouse=True)
def _default() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


async def _asks_a_server_that_is_silent() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(5)


def test_it_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("harness.cli.main", lambda: asyncio.run(_asks_a_server_that_is_silent()))
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert (ended.value.code, capsys.readouterr().err) == (143, MESSAGE)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_who_ignores_it_goes_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    monkeypatch.setattr("harness.cli.main", lambda: os.kill(os.getpid(), signal.SIGTERM))
    entry.main()
    assert not capsys.readouterr().err


def test_one_that_falls_into_a_callback_of_the_interpreter_comes_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Dropped:
        def __del__(self) -> None:
            raise entry.Terminated(143)

    def run() -> None:
        Dropped()
        signal.pause()

    monkeypatch.setattr("sys.unraisablehook", None)
    monkeypatch.setattr("harness.cli.main", run)
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert (ended.value.code, capsys.readouterr().err) == (143, MESSAGE)
