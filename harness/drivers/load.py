"""The load of one run, as a driver sees it: what comes next, how to send it, when to end."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from harness.drivers.intake import Intake
from harness.drivers.pacer import Pacer
from harness.drivers.turnstile import Turnstile
from harness.record import CANCELLED
from harness.timeline import End
from scenarios.conversation import next_turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
    from typing import Any

    from harness.client import Client, Prepared
    from harness.digest import Digest
    from harness.drivers.brake import Brake
    from harness.drivers.facts import LoadFacts
    from harness.exchange import Exchange
    from harness.record import Record
    from scenarios.schedule import Schedule


class Load:
    """Keeps the requests in flight, and ends them when the run ends.

    Attributes:
        schedule: The limits of the run.
        facts: What has been done so far.
        start_ns: Monotonic time of the start.
        arrivals: What to send, each put into bytes when it is taken; of a conversation its first turn.
        pacer: Waits for due times.
        turnstile: Parts requests that begin together.
        over: Set once nothing more will be sent.
    """

    def __init__(
        self,
        schedule: Schedule,
        client: Client,
        digest: Digest,
        facts: LoadFacts,
        stop: asyncio.Event,
        brake: Brake,
    ) -> None:
        self.schedule = schedule
        self.facts = facts
        self.start_ns = facts.started_ns
        self.pacer = Pacer()
        self.turnstile = Turnstile()
        self.over = asyncio.Event()
        self._intake = Intake(schedule.arrivals, schedule.num_requests)
        self.arrivals: Iterator[Prepared] = map(client.prepare, self._intake)
        self._client = client
        self._digest = digest
        self._stop = stop
        self._brake = brake
        self._tasks: set[asyncio.Task[None]] = set()
        self._halted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        digest.on_failure = self._fail
        digest.gives_way = lambda: self.pacer.num_overdue > 0

    @property
    def last_send_ns(self) -> int | None:
        """Monotonic time after which nothing is sent any more; None for no limit by time."""
        if self.schedule.duration_ns is None:
            return None
        late_ns = self.schedule.grace_ns if self.schedule.loop == "open" else 0
        return self.start_ns + self.schedule.duration_ns + late_ns

    @property
    def too_late(self) -> bool:
        """True once nothing may be sent any more."""
        return self.last_send_ns is not None and time.monotonic_ns() > self.last_send_ns

    @property
    def is_stopped(self) -> bool:
        """True once a limit of the schedule has ended the sending."""
        return self._brake.pulled.done()

    def drop_rest(self) -> None:
        """Count the arrival in hand and all that follow as dropped."""
        self.facts.dropped_arrivals += 1 + sum(1 for _ in self.arrivals)

    def drop(self, prepared: Prepared) -> None:
        """Count a later turn that was due as dropped; what would have come after it never was."""
        self.facts.dropped_arrivals += 1
        self._give_up(1 + len(prepared.arrival.later), make_up=False)

    async def send(
        self, prepared: Prepared, due_ns: int, told: Callable[[Record, str], None] | None = None
    ) -> Exchange:
        """Send one request and return when its exchange is over, however it ended.

        Args:
            prepared: The request.
            due_ns: When it was due, on the monotonic clock.
            told: Told of its record and of what the server said.
        """
        exchange = self._digest.open(prepared, due_ns, told)
        self.facts.sending()
        self._intake.sent()
        self.check_over()
        self._brake.begun()
        try:
            await self._exchange(prepared, exchange)
        finally:
            self.facts.ended()
            self._digest.finish(exchange)
        return exchange

    async def next_turn(self, prepared: Prepared, exchange: Exchange) -> tuple[Prepared, int] | None:
        """Wait until the turn after ``prepared`` is due; None where there is none, or it won't be sent.

        A turn that failed, or was given up, ends its conversation. So does the end of the run: a turn that
        would be due after it is not sent.

        Args:
            prepared: A request that has been sent.
            exchange: How that went.

        Returns:
            The next turn and when it is due, on the monotonic clock.
        """
        later = prepared.arrival.later
        if not later:
            return None
        assert exchange.recorded is not None  # it has later turns
        record = await exchange.recorded
        due_ns = self.start_ns + record.done_ns + later[0].think_ns
        if not record.outcome.succeeded or not self._in_time(due_ns):
            self._give_up(len(later), make_up=not record.outcome.succeeded)
            return None
        following = self._client.prepare(next_turn(prepared.arrival, exchange.said))
        await self.pacer.until(due_ns)
        if self.over.is_set() or self.is_stopped:
            return None
        return following, due_ns

    def _in_time(self, due_ns: int) -> bool:
        """Whether a request that is due then belongs to the run."""
        duration_ns = self.schedule.duration_ns
        return duration_ns is None or due_ns < self.start_ns + duration_ns

    def _give_up(self, num_turns: int, *, make_up: bool) -> None:
        """These turns will never be sent. A closed loop makes up for those that failed turns have cost it."""
        self._intake.given_up(num_turns, make_up=make_up and self.schedule.loop == "closed")
        self.check_over()

    def check_over(self) -> None:
        """Say so if nothing more will be sent."""
        if self._intake.has_sent_all:
            self.end_sending()

    def end_sending(self) -> None:
        """Nothing more is sent: whoever waits for a due time need not wait any longer."""
        self.over.set()
        self.pacer.release()

    async def _exchange(self, prepared: Prepared, exchange: Exchange) -> None:
        """Let the transport do it, and give up in time where that is asked for."""
        after_ns = prepared.arrival.cancel_after_ns
        exchanging = self._client.transport.exchange(prepared.request, exchange)
        try:
            if after_ns is None:
                await exchanging
            else:
                async with asyncio.timeout(after_ns / 1e9):
                    await exchanging
        except TimeoutError:
            exchange.detail = CANCELLED if exchange.end is End.CUT else exchange.detail
        except asyncio.CancelledError as error:
            if error.args == (CANCELLED,):  # the task was cancelled for that reason, and not by the run's end
                exchange.detail = CANCELLED
            raise

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run ``work`` as a part of this load: awaited in the grace period, then cut."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def run(self, drive: Callable[[Load], Awaitable[None]]) -> None:
        """Let ``drive`` send, give what is in flight its grace period, cut the rest."""
        stopping = asyncio.ensure_future(self._stop.wait())
        driving = asyncio.ensure_future(drive(self))
        driving.add_done_callback(self._done)
        try:
            await self._wait((driving,), (stopping, self._brake.pulled), None)
            await self._cut((driving,))
            self.end_sending()
            await self._wait(tuple(self._tasks), (stopping,), self.schedule.grace_ns / 1e9)
        finally:
            await self._cut((stopping, driving, *self._tasks))
            self.pacer.close()
        if self._halted.done():
            self._halted.result()

    async def _wait(
        self,
        tasks: Iterable[asyncio.Future[None]],
        signals: Iterable[asyncio.Future[Any]],
        timeout_s: float | None,
    ) -> None:
        signals = {*signals, self._halted}
        if not tasks or any(signal.done() for signal in signals):
            return
        all_done = asyncio.ensure_future(asyncio.wait(tasks))
        await asyncio.wait({all_done, *signals}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        await self._cut((all_done,))

    async def _cut(self, tasks: Iterable[asyncio.Future[Any]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, task: asyncio.Future[None]) -> None:
        if isinstance(task, asyncio.Task):
            self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if not self._halted.done():
            self._halted.set_exception(error)
