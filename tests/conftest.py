"""What tests of several folders share."""

from __future__ import annotations

import os
import signal
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import hypothesis
import pytest
from support.replay_server import ReplayServer
from support.timetable_process import TimetableProcess

from harness.record import Outcome, Record, TokenSource

if TYPE_CHECKING:
    from collections.abc import Iterator

# Triton reads it when it is imported: kernels are interpreted, except where tests of the GPU are asked for.
_ASKS_FOR_GPU = any(option == "-m" and "gpu" in marks.split()[:1] for option, marks in pairwise(sys.argv))
os.environ.setdefault("TRITON_INTERPRET", "0" if _ASKS_FOR_GPU else "1")

# Torch's threads wait for work in loops, which takes the cores from the workers beside them.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Whoever starts tests in the background of a script has them ignore Ctrl-C, and all that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

MS = 1_000_000

hypothesis.settings.register_profile("busy", deadline=None)
hypothesis.settings.load_profile("busy")  # how long an example takes says nothing on a shared machine


class MakeRecord(Protocol):
    """Makes a record; times in ms, ``fields`` win over everything."""

    def __call__(
        self,
        index: int = ...,
        *,
        due: float = ...,
        sent: float | None = ...,
        chunks: tuple[float, ...] = ...,
        outcome: str = ...,
        **fields: Any,
    ) -> Record:
        """A request; ``chunks`` are ms after its due time."""


@pytest.fixture(scope="session")
def make_record() -> MakeRecord:
    """A good streamed request: due and sent at 0, first token at 100 ms, three more every 10 ms."""

    def make(
        index: int = 0,
        *,
        due: float = 0,
        sent: float | None = None,
        chunks: tuple[float, ...] = (100, 110, 120, 130),
        outcome: str = "ok",
        **fields: Any,
    ) -> Record:
        times = [round((due + each) * MS) for each in chunks]
        sent_ns = round((due if sent is None else sent) * MS)
        values: dict[str, Any] = {
            "due_ns": round(due * MS),
            "sent_ns": sent_ns,
            "headers_ns": sent_ns,
            "chunk_ns": times,
            "chunk_tokens": [1] * len(times),
            "answer_index": 0 if times else None,
            "done_ns": (times or [sent_ns + 50 * MS])[-1],
            "outcome": Outcome(outcome),
            "status": 200,
            "prompt_tokens": 8,
            "output_tokens": len(times) or None,
            "token_source": TokenSource.USAGE if times else None,
            "usage_tokens": len(times) or None,
        }
        return Record(index=index, **{**values, **fields})

    return make


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A calibration of this machine, if there is one, is none of a test's business, nor a test's of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def replay_server() -> Iterator[ReplayServer]:
    """A loopback server that plays given bytes and faults."""
    with ReplayServer() as server:
        yield server


@pytest.fixture(scope="session")
def timetable() -> Iterator[TimetableProcess]:
    """A timetable server of the session; a test gives each request a script of its own."""
    with TimetableProcess("--ttft", "5ms", "--gap", "1ms", "--tokens", "10") as server:
        yield server
