"""The timetable server on each of its event loops."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from support.timetable_process import TimetableProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture(scope="module", params=["asyncio", pytest.param("compiled", marks=needs_compiler)])
def event_loop_name(request: pytest.FixtureRequest) -> str:
    """Every test of this folder is run on both loops: their answers and logs are the same."""
    return str(request.param)


@pytest.fixture(scope="module")
def timetable(event_loop_name: str) -> Iterator[TimetableProcess]:
    """A server for the module; a test gives each request a script of its own."""
    options = ("--event-loop", event_loop_name, "--ttft", "5ms", "--gap", "1ms", "--tokens", "10")
    with TimetableProcess(*options) as server:
        yield server
