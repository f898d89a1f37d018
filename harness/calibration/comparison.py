"""A run against the log of the server that it was sent to: how far every stamp is off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from harness.errors import HarnessError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.record import Record

    IntArray = np.ndarray[Any, np.dtype[np.int64]]


class ComparisonError(HarnessError):
    """The log doesn't tell what was sent. The message says what is missing."""


class LogLine(msgspec.Struct):
    """What is needed of a line of the timetable server's log; times on the monotonic clock.

    Attributes:
        request_id: As the harness sent it; it ends with the request's index.
        arrival_ns: The server had read the request.
        token_ns: Just before each token was handed to the kernel.
    """

    request_id: str | None
    arrival_ns: int
    token_ns: list[int]

    @property
    def index(self) -> int | None:
        """Position of the request in the schedule; None where it isn't one of the harness's."""
        _, _, index = (self.request_id or "").rpartition("-")
        return int(index) if index.isdigit() else None


class Errors(NamedTuple):
    """How far the harness was off, ns. Positive: it saw a longer time, or saw it later.

    Attributes:
        first_stamps: Of each request: its first chunk's stamp, against the time when the server sent it.
            This is the error of a TTFT that counts from the sending.
        gaps: Of each chunk but the first: its gap, against that between two sendings of the server.
        with_way: Of each request: TTFT against the server's own, from its reading of the request. What the
            request took to get there is in it, the server's own slowness in reading included.
    """

    first_stamps: IntArray
    gaps: IntArray
    with_way: IntArray


def errors(records: Iterable[Record], log: Iterable[LogLine], started_ns: int) -> Errors:
    """Compare.

    Args:
        records: Of requests that all went well, with one token in each chunk.
        log: The server's; lines of other clients are passed over.
        started_ns: Monotonic time from which the records' times count.

    Raises:
        ComparisonError: A record has no line, or not as many chunks as the server sent.
    """
    by_index = {line.index: line for line in log}
    first_stamps, gaps, with_way = [], [], []
    for record in records:
        line = by_index.get(record.index)
        if line is None or len(line.token_ns) != len(record.chunk_ns) or record.sent_ns is None:
            raise ComparisonError(
                f"request {record.index} is not in the timetable server's log as it was received; is another "
                "program using that server?"
            )
        seen = np.array(record.chunk_ns, np.int64) + started_ns
        delays = seen - np.array(line.token_ns, np.int64)
        first_stamps.append(int(delays[0]))
        gaps.append(np.diff(delays))
        with_way.append(int(delays[0]) + line.arrival_ns - record.sent_ns - started_ns)
    if not first_stamps:
        raise ComparisonError("no request was sent to the timetable server; there is nothing to compare")
    return Errors(np.array(first_stamps, np.int64), np.concatenate(gaps), np.array(with_way, np.int64))
