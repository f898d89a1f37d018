"""Requests that others ask for, one by one, while the run goes on: users whose behaviour is a program.

It is a closed loop whose slots are elsewhere: whoever asks waits for the answer before asking again. A
request is due when it was asked for.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from harness.errors import HarnessError
from harness.event_loop import call_soon
from harness.record import CANCELLED
from scenarios.request import Arrival, Prompt
from scenarios.schedule import Schedule, StopLimits

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.client import Prepared
    from harness.drivers.load import Load
    from harness.record import Record

    Told = Callable[[Record | None, str], None]


class NotTakenError(HarnessError):
    """A request was asked for when the run took no more."""


class Asked(NamedTuple):
    """One request.

    Attributes:
        arrival: What is sent.
        due_ns: When it was asked for, on the monotonic clock.
        told: Told of its record and of what the server said, on the run's event loop; of None where it was
            never sent.
    """

    arrival: Arrival
    due_ns: int
    told: Told


class Requests:
    """Takes requests from one thread and sends them on the event loop of a run."""

    def __init__(self) -> None:
        self._waiting: deque[Asked] = deque()
        self._numbers = itertools.count()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._filled = asyncio.Event()
        self._is_closed = False

    def schedule_like(self, schedule: Schedule) -> Schedule:
        """A schedule of these requests, with the warm-up, the grace and the limits of another."""
        stop = StopLimits(
            error_share=schedule.stop.error_share,
            min_ended=schedule.stop.min_ended,
            in_flight=schedule.stop.in_flight,
        )
        return Schedule(
            arrivals=self,
            loop="closed",
            warmup_ns=schedule.warmup_ns,
            warmup_requests=schedule.warmup_requests,
            auto_warmup=schedule.auto_warmup,
            grace_ns=schedule.grace_ns,
            stop=stop,
        )

    def ask(self, prompt: Prompt, sampling: dict[str, Any], told: Told) -> int:
        """Have a request sent now; to be called from one and the same thread.

        Args:
            prompt: What is asked.
            sampling: Extra body fields.
            told: See ``Asked``.

        Returns:
            Its number.

        Raises:
            NotTakenError: The run has ended its sending.
        """
        if self._is_closed:
            raise NotTakenError("the run sends no more requests")
        arrival = Arrival(index=next(self._numbers), due_ns=None, prompt=prompt, sampling=sampling)
        self._waiting.append(Asked(arrival, time.monotonic_ns(), told))
        call_soon(self._loop, self._filled.set)
        return arrival.index

    def give_up(self, index: int, *, by_end: bool) -> None:
        """Cut a request, if it is still on its way: nobody waits for it any more. From any thread.

        Args:
            index: Its number.
            by_end: Whether that is the end of the run, and not the wish of whoever asked.
        """
        call_soon(self._loop, self._give_up, index, None if by_end else CANCELLED)

    def close(self) -> None:
        """Nothing more will be asked for; from any thread."""
        self._is_closed = True
        call_soon(self._loop, self._filled.set)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Arrival:
        return self._waiting[0].arrival

    async def drive(self, load: Load) -> None:
        """Send what is asked for until ``close``: a driver, like those that are found by name."""
        self._loop = asyncio.get_running_loop()
        try:
            while self._waiting or not self._is_closed:
                await self._send_all(load)
                await self._filled.wait()
                self._filled.clear()
        finally:
            self._is_closed = True
            for asked in self._waiting:
                asked.told(None, "")

    async def _send_all(self, load: Load) -> None:
        while self._waiting:
            await load.turnstile.take()
            prepared = next(load.arrivals)
            asked = self._waiting.popleft()
            task = load.spawn(_send(load, prepared, asked))
            self._tasks[asked.arrival.index] = task
            task.add_done_callback(functools.partial(self._forget, asked.arrival.index))

    def _forget(self, index: int, _: asyncio.Task[None]) -> None:
        del self._tasks[index]

    def _give_up(self, index: int, why: str | None) -> None:
        if (task := self._tasks.get(index)) is not None:
            task.cancel(why)


async def _send(load: Load, prepared: Prepared, asked: Asked) -> None:
    due_ns = max(asked.due_ns, load.start_ns)  # what was asked for before the load began is due at once
    await load.send(prepared, due_ns, asked.told)
