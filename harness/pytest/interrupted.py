"""Runs that Ctrl-C or SIGTERM cut off: what they left is told, though their test has no report."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from harness.pytest import notes, reporting
from harness.pytest.table import near, page_of
from harness.pytest.used_runs import own_runs, shared_runs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from harness.pytest.run import Run


@contextlib.contextmanager
def told(item: pytest.Item) -> Iterator[None]:
    """Note what a test's runs left if the session ends while the block runs. SIGTERM ends it too."""
    with _sigterm():
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
def _sigterm() -> Iterator[None]:
    """End the session in order on SIGTERM, where nobody else has a use for it."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    del number, frame
    pytest.exit("SIGTERM")
