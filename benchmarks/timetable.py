"""The timetable server of a measurement, and its log: the truth."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from urllib.request import Request, urlopen

import numpy as np

from benchmarks.cores import bind

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODEL = "timetable"


class TimetableServer:
    """The server on a free port, bound to a core, while it is entered as a context.

    Args:
        core: Where it runs.
        options: Of ``python -m reference_server.timetable``.

    Attributes:
        url: Its address.
        pid: Its process.
    """

    def __init__(self, core: int | None, *options: str) -> None:
        command = [sys.executable, "-m", "reference_server.timetable", "--port", "0", *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.pid = self._process.pid
        bind(self.pid, core)

    def __enter__(self) -> Self:
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().split()[-1]
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(30)

    def reset(self) -> None:
        """Forget what was logged."""
        with urlopen(Request(f"{self.url}/timetable/reset", method="POST")):
            pass

    def truth(self) -> Truth:
        """What happened since the last reset."""
        with urlopen(f"{self.url}/timetable/log") as reply:
            return Truth([json.loads(line) for line in reply])


class Truth:
    """What the server did, as it logged it.

    Args:
        lines: Of the log.

    Attributes:
        lines: Those of requests that were answered whole.
        num_failed: The others.
    """

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self.lines = sorted(
            (line for line in lines if line["outcome"] == "ok"), key=lambda line: line["index"]
        )
        self.num_failed = len(lines) - len(self.lines)

    @cached_property
    def ttft_ns(self) -> NDArray[np.int64]:
        """From arrival to the first token, request by request."""
        return np.array([line["token_ns"][0] - line["arrival_ns"] for line in self.lines])

    @cached_property
    def gaps_ns(self) -> NDArray[np.int64]:
        """All gaps between tokens."""
        return np.concatenate([np.diff(line["token_ns"]) for line in self.lines])

    @cached_property
    def arrivals_ns(self) -> NDArray[np.int64]:
        """In order."""
        return np.sort([line["arrival_ns"] for line in self.lines])

    @property
    def window_ns(self) -> tuple[int, int]:
        """From the first arrival to the end of the last answer."""
        return int(self.arrivals_ns[0]), max(line["done_ns"] for line in self.lines)

    @property
    def num_chunks(self) -> int:
        """That bear a token."""
        return sum(len(line["token_ns"]) for line in self.lines)

    @property
    def concurrency(self) -> float:
        """Requests in flight, on average over the middle half of the window."""
        begin, end = self.window_ns
        low, high = begin + (end - begin) / 4, end - (end - begin) / 4
        inside = [min(line["done_ns"], high) - max(line["arrival_ns"], low) for line in self.lines]
        return float(sum(time for time in inside if time > 0) / (high - low))

    @property
    def max_late_ms(self) -> float:
        """The worst delay of a write against the timetable: the server's own, and no client's fault."""
        return float(max(line["max_late_ns"] for line in self.lines)) / 1e6

    def by_index(self) -> dict[str, dict[str, Any]]:
        """Lines by what their ``X-Request-Id`` ends with after the last dash."""
        return {line["request_id"].rpartition("-")[2]: line for line in self.lines if line["request_id"]}
