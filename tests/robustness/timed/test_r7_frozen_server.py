"""R7: no request that waited is left out because the server stood still."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest
from support.timetable_process import TimetableProcess

if TYPE_CHECKING:
    from tests.robustness.conftest import Perform

S, MS = 10**9, 10**6


@pytest.mark.parametrize("frozen_s", [1.5, pytest.param(5.0, marks=pytest.mark.soak)])
def test_R7_all_that_were_due_while_the_server_stood_still_show_the_wait(
    frozen_s: float, perform: Perform
) -> None:
    """SIGSTOP at 100 requests/s: 99 of 100 due meanwhile show at least the time until it went on."""
    stopped: list[int] = []

    def freeze(pid: int) -> None:
        time.sleep(1.5)
        stopped.append(time.monotonic_ns())
        os.kill(pid, signal.SIGSTOP)
        time.sleep(frozen_s)
        os.kill(pid, signal.SIGCONT)
        stopped.append(time.monotonic_ns())

    with TimetableProcess("--ttft", "20ms", "--gap", "1ms") as server:
        freezing = threading.Thread(target=freeze, args=[server._process.pid])
        freezing.start()
        done = perform(
            server.url, {"arrivals": "constant", "rate": 100, "duration": f"{frozen_s + 3}s"}, model=None
        )
        freezing.join()
    origin_ns = done.folder.checkpoint().started_ns
    begin_ns, end_ns = (at - origin_ns for at in stopped)
    waiting = [record for record in done.records if begin_ns <= record.due_ns < end_ns]
    assert len(waiting) == pytest.approx(100 * (end_ns - begin_ns) / S, abs=2)
    shown = sum(bool(record.chunk_ns) and record.chunk_ns[0] >= end_ns - 5 * MS for record in waiting)
    assert shown >= 0.99 * len(waiting)
    assert done.result.outcomes == {"ok": done.result.num_requests}


def test_R7_a_closed_loop_says_that_it_cannot_show_it(perform: Perform) -> None:
    """Answers of one token: whenever the server stands still, it is a first token that waits."""
    with TimetableProcess("--ttft", "20ms", "--gap", "1ms", "--freeze", "500ms+1s") as server:
        load = {"arrivals": "closed", "concurrency": 1, "requests": 40}
        done = perform(server.url, load, tokens=1, model=None)
    assert any("closed loop: no intended times" in note for note in done.result.notes)
    ttft = done.result.metric("ttft")
    assert ttft is not None
    assert ttft.basis is None
    assert ttft.maximum is not None
    assert ttft.maximum > 0.5 * S
    assert sorted(record.chunk_ns[0] - record.due_ns for record in done.records)[-2] < 0.5 * S
