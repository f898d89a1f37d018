"""One answer on its way: carries its writes out when they are due, and stamps them."""

from __future__ import annotations

import enum
from array import array
from time import monotonic_ns
from typing import TYPE_CHECKING

from reference_server.timetable.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.timetable.capacity import Capacity
    from reference_server.timetable.connection import Connection
    from reference_server.timetable.log import Entry
    from reference_server.timetable.plan import Plan
    from reference_server.timetable.wheel import TimerWheel
    from reference_server.timetable.writes import Steps

_MAX_WRITES_IN_ONE_GO = 64


class _State(enum.Enum):
    BEFORE_HEAD = enum.auto()
    QUEUED = enum.auto()
    SERVED = enum.auto()
    RUNS = enum.auto()
    STALLED = enum.auto()
    ENDED = enum.auto()


_ENDED = _State.ENDED


class Answer:
    """Serves one request.

    Args:
        entry: Its line in the log, filled in here.
        plan: What happens to it.
        connection: Where it goes.
        wheel: Where it waits for its time.
        capacity: Where it waits for a slot.
        finished: Told once, when the entry is complete.
    """

    def __init__(
        self,
        entry: Entry,
        plan: Plan,
        connection: Connection,
        wheel: TimerWheel,
        capacity: Capacity,
        finished: Callable[[Entry], None],
    ) -> None:
        self._entry, self._plan, self._connection = entry, plan, connection
        self._wheel, self._capacity, self._finished = wheel, capacity, finished
        self._state = _State.BEFORE_HEAD
        self._due_ns, self._data, self._num_tokens = 0, b"", 0

    def begin(self, head: bytes, make_steps: Callable[[int], Steps]) -> None:
        """Send the response head, queue, then carry out the writes.

        Args:
            head: Empty if the first write has it.
            make_steps: The writes and runs, given the start of service in ns.
        """
        self._head, self._make_steps = head, make_steps
        if self._plan.headers_delay_ns:
            self._wheel.add(self._entry.arrival_ns + self._plan.headers_delay_ns, self._send_head)
        else:
            self._send_head()

    def lost(self, reason: str) -> None:
        """The connection is gone, or the server stops."""
        if self._state is _State.ENDED:
            return
        if self._state is _State.QUEUED:
            self._capacity.give_up(self._serve)
        if self._state is _State.RUNS:
            self._take_stock()
        outcome = "stall" if self._state is _State.STALLED else reason
        self._end(outcome, monotonic_ns())

    def _send_head(self) -> None:
        if self._state is _State.ENDED:
            return
        if self._head:
            self._entry.headers_ns = monotonic_ns()
            self._connection.write(self._head)
        self._state = _State.QUEUED
        self._capacity.enter(self._entry.arrival_ns, self._serve)

    def _serve(self, start_ns: int) -> None:
        self._state = _State.SERVED
        self._entry.start_ns = start_ns
        self._steps = self._make_steps(start_ns)
        self._advance(start_ns)

    def _advance(self, stamp: int) -> None:
        """Wait for the next write, or leave the next run to the connection."""
        if self._take_write(stamp):
            self._wheel.add(self._due_ns, self._write_due)

    def _take_write(self, stamp: int) -> bool:
        """True if the next step is a write; anything else is seen to here."""
        step = next(self._steps, None)
        if step is None:
            self._complete(stamp)
        elif isinstance(step, Run):
            self._start(step)
        else:
            self._due_ns, self._data, self._num_tokens = step
            return True
        return False

    def _write_due(self) -> None:
        """The hot path without runs: write what is due at this instant, render what comes next."""
        due_ns = self._due_ns
        if self._state is _ENDED:
            return
        for _ in range(_MAX_WRITES_IN_ONE_GO):
            stamp = monotonic_ns()
            self._connection.write(self._data)
            if self._state is _ENDED:
                return
            self._note(stamp)
            if not self._take_write(stamp):
                return
            if self._due_ns > due_ns:
                break
        self._wheel.add(self._due_ns, self._write_due)

    def _start(self, run: Run) -> None:
        if self._state is _ENDED or self._connection.runner is None:
            return
        self._state, self._run = _State.RUNS, run
        self._progress = array("q", (0, 0, 0))
        self._entry.token_ns.frombytes(bytes(run.num_events * self._entry.token_ns.itemsize))
        self._connection.runner.run(run, self._entry.token_ns, self._progress, self._ran)

    def _ran(self) -> None:
        """The run is over, or the client does not read."""
        is_complete = self._progress[0] == self._run.num_events
        self._take_stock()
        self._state = _State.SERVED
        if is_complete:
            self._advance(monotonic_ns())
        else:
            self._connection.stop("slow_reader")

    def _take_stock(self) -> None:
        """Put what the run did into the log's entry."""
        num_done, max_late_ns, num_held = self._progress
        stamps = self._entry.token_ns
        del stamps[len(stamps) - self._run.num_events + num_done :]
        self._entry.max_late_ns = max(self._entry.max_late_ns, max_late_ns)
        self._connection.note_held_back(num_held)

    def _note(self, stamp: int) -> None:
        entry, num_tokens = self._entry, self._num_tokens
        if num_tokens == 1:
            entry.token_ns.append(stamp)
        elif num_tokens:
            entry.token_ns.extend([stamp] * num_tokens)
        late_ns = stamp - self._due_ns
        if late_ns > entry.max_late_ns:
            entry.max_late_ns = late_ns
        if entry.headers_ns is None:
            entry.headers_ns = stamp

    def _complete(self, stamp: int) -> None:
        """All is written; what comes then is the fault's to say."""
        fault, connection = self._plan.fault, self._connection
        if fault == "stall":
            self._state = _State.STALLED
            return
        if self._plan.ends_well:
            self._entry.finish_reason = self._plan.finish_reason
        self._end("ok" if fault in (None, "slow_headers", "close") else fault, stamp)
        if fault == "reset":
            connection.reset()
        else:
            connection.finish(closes=self._plan.closes or fault == "cut")

    def _end(self, outcome: str, stamp: int) -> None:
        if self._state in (_State.SERVED, _State.RUNS, _State.STALLED):
            self._capacity.leave()
        self._state = _State.ENDED
        self._entry.outcome = outcome
        self._entry.done_ns = stamp
        self._entry.completion_tokens = len(self._entry.token_ns)
        self._entry.num_held_back = self._connection.num_held_back
        self._finished(self._entry)
