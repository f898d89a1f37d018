"""Runs that Ctrl-C, SIGTERM or SIGHUP cut off: what they left is told, though their test has no report."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, Final

import pytest

from harness.closed_terminal import Terminals
from harness.pytest import notes, reporting
from harness.pytest.table import near, page_of
from harness.pytest.used_runs import own_runs, shared_runs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from harness.pytest.run import Run

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def told(item: pytest.Item) -> Iterator[None]:
    """Note what a test's runs left if the session ends meanwhile. SIGTERM and SIGHUP end it too."""
    with _signals():
        try:
            yield
        except (KeyboardInterrupt, pytest.exit.Exception):
            _note(item)
            raise


def _note(item: pytest.Item) -> None:
    runs = (*own_runs(item), *shared_runs(item))
    lines = [_line(item, run) for run in runs if run.result.interrupted is not None]
    if lines:
        notes.note(item.config, reporting.note(item), lines)


def _line(item: pytest.Item, run: Run) -> str:
    page = page_of(run.folder)
    where = near(run.folder if page is None else page)
    return f"{item.nodeid} was interrupted by {run.result.interrupted}; what it had measured: {where}"


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """End the session in order on SIGTERM and SIGHUP, where nobody else has a use for them."""
    in_main = threading.current_thread() is threading.main_thread()
    taken = [each for each in _SIGNALS if in_main and signal.getsignal(each) is signal.SIG_DFL]
    terminals = Terminals()

    def end(number: int, frame: FrameType | None) -> None:
        del frame
        for each in taken:
            signal.signal(each, signal.SIG_IGN if each is signal.SIGHUP else signal.SIG_DFL)
        taken.clear()
        terminals.leave_closed()
        pytest.exit(signal.Signals(number).name)

    for each in taken:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in taken:
            signal.signal(each, signal.SIG_DFL)
