"""Decodes answers off the hot path: between turns of the event loop, a little at a time.

An event loop that decodes a whole answer at once is late for every other stream meanwhile. So what ended
is put into a queue, and one task works it off in steps of some hundred microseconds, with the sockets being
served between two steps.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from harness.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.client import Client, Prepared
    from harness.record import Record

_READS_PER_STEP: Final = 128
_MAX_SHARE: Final = 0.25
_MAX_TURN_NS: Final = 1_000_000
_MAX_BACKLOG: Final = 1_024


class Digest:
    """The queue between the transport and whoever wants records.

    Args:
        client: Whose exchanges these are.
        on_record: Called for each finished exchange.
        origin_ns: Start of the run on the monotonic clock.
        samples: So many requests, the first ones, keep their text.

    Attributes:
        on_failure: Called once with the exception if ``on_record`` fails.
        gives_way: Whether something else is more urgent just now, such as a request that is overdue.
    """

    def __init__(
        self, client: Client, on_record: Callable[[Record], None], *, origin_ns: int, samples: int = 0
    ) -> None:
        self.on_failure: Callable[[BaseException], None] = lambda _: None
        self.gives_way: Callable[[], bool] = lambda: False
        self._client = client
        self._on_record = on_record
        self._origin_ns = origin_ns
        self._samples = samples
        self._queue: deque[Exchange] = deque()
        self._filled = asyncio.Event()
        self._failed = False
        self._task = asyncio.get_running_loop().create_task(self._work())

    def open(
        self, prepared: Prepared, due_ns: int, told: Callable[[Record, str], None] | None = None
    ) -> Exchange:
        """A new exchange, to be given to ``finish`` when it has ended."""
        keep_text = prepared.arrival.index < self._samples
        return Exchange(self._client, prepared, due_ns, self._put, keep_text=keep_text, told=told)

    def finish(self, exchange: Exchange) -> None:
        """Make the record of an exchange that is over."""
        self._put(exchange)

    async def close(self) -> None:
        """Work off what is left, then stop."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        while self._queue and not self._failed:
            self._step()

    def _put(self, exchange: Exchange) -> None:
        self._queue.append(exchange)
        self._filled.set()

    async def _work(self) -> None:
        left_ns = time.monotonic_ns()
        while not self._failed:
            await self._filled.wait()
            if len(self._queue) > _MAX_BACKLOG or not self.gives_way():
                self._turn(left_ns)
                left_ns = time.monotonic_ns()
            if not self._queue:
                self._filled.clear()
            await asyncio.sleep(0)

    def _turn(self, left_ns: int) -> None:
        """A step, and more of them as long as there is time: a share of that since the last turn."""
        begun_ns = time.monotonic_ns()
        until_ns = begun_ns + min(_MAX_TURN_NS, int(_MAX_SHARE * (begun_ns - left_ns)))
        self._step()
        while self._queue and (time.monotonic_ns() < until_ns or len(self._queue) > _MAX_BACKLOG):
            self._step()

    def _step(self) -> None:
        """Decode a few reads of the exchange that has waited longest."""
        exchange = self._queue[0]
        if exchange.digest(_READS_PER_STEP):
            if exchange.end is None:  # it goes on: others first
                self._queue.rotate(-1)
            return
        self._queue.popleft()
        if exchange.end is None or exchange.is_recorded:
            return
        exchange.is_recorded = True
        try:
            record = exchange.record(self._origin_ns)
            self._on_record(record)
            exchange.tell(record)
        except Exception as error:  # noqa: BLE001 (handed to whoever runs the load, which raises it)
            self._failed = True
            self.on_failure(error)
