"""All workers of a load: started together, watched, ended together, and put together."""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from harness.client_health import HealthProbe
from harness.decided import LOOK_S
from harness.drivers import LoadFacts
from harness.errors import JournalError
from harness.journal import read_journal
from harness.live_view import LiveView
from harness.load_status import LoadStatus, merged
from harness.native import in_thread
from harness.summary.pace import Pace
from harness.workers.journals import journal_of, put_together
from harness.workers.limits import CommonLimits
from harness.workers.looking import CommonLooks
from harness.workers.messages import Beat, Count, Counted, Cut, Drain, Message, Order, Start
from harness.workers.process import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from harness.address import Address
    from harness.decided import Decided
    from harness.looks import Looks
    from harness.result_folder import Manifest
    from harness.tally import Tally
    from harness.workers.member import Hire, Member
    from scenarios.schedule import Schedule

BEAT_S: Final = 0.5
LIMIT_BEAT_S: Final = 0.1
"""Where a limit may end the load early, which only all workers together can tell."""
CUT_S: Final = 10.0
"""A worker that was told to end now and hasn't after this time is killed."""


class Crew:
    """Sends a load as ``LocalLoad`` does, in several processes.

    Args:
        schedule: The whole load. Its arrivals are not touched: each worker makes its own.
        num_workers: No more than the load has use for.
        manifest: The run.
        address: The server under test.
        tally: Takes what the workers counted.
        journal_path: The journal, new.
        stop: Set it to end the load now.
        looks: At the objectives, where the load ends as soon as they are decided.
        hire: Finds a worker for an order; by default it is started in a process of its own.

    Attributes:
        started_ns: Monotonic time of the start; 0 before it.
    """

    def __init__(
        self,
        schedule: Schedule,
        num_workers: int,
        manifest: Manifest,
        address: Address,
        tally: Tally,
        journal_path: Path,
        stop: asyncio.Event,
        *,
        looks: Looks | None = None,
        hire: Hire = WorkerProcess,
    ) -> None:
        self.started_ns = 0
        self._is_open = schedule.loop == "open"
        self._tally = tally
        self._journal_path = journal_path
        self._stop = stop
        self._limits = CommonLimits(schedule.stop)
        self._looking = None if looks is None else CommonLooks(looks, manifest)
        self._stopped: str | None = None
        self._decided: Decided | None = None
        self._workers = [
            hire(
                Order(
                    manifest=manifest,
                    address=address,
                    worker=worker,
                    num_workers=num_workers,
                    journal=str(journal_of(journal_path, worker)),
                    beat_s=LIMIT_BEAT_S if schedule.stop.is_any else BEAT_S,
                )
            )
            for worker in range(num_workers)
        ]

    async def run(self) -> None:
        """Send all of it; a worker that is lost ends it.

        Raises:
            WorkersError: The workers can't be started. Nothing was sent.
            JournalError: The journal can't be written. What was measured until then is in the tally.
        """
        stopping = asyncio.ensure_future(self._cut_when_told())
        looking = asyncio.ensure_future(self._look())
        try:
            if await self._begin():
                await asyncio.gather(*map(self._follow, self._workers))
        finally:
            stopping.cancel()
            looking.cancel()
            if not self.started_ns:
                self._kill_the_rest()
            await asyncio.gather(
                stopping, looking, *(worker.end() for worker in self._workers), return_exceptions=True
            )
        await in_thread(self._put_together)

    def status(self) -> LoadStatus:
        """How it stands, as of the last beats; a worker that hasn't been heard of has done nothing."""
        statuses = [worker.status or _nothing_yet() for worker in self._workers]
        whole = merged(statuses, is_open=self._is_open)
        lost = tuple(worker.lost for worker in self._workers if worker.lost is not None)
        return msgspec.structs.replace(
            whole, started_ns=self.started_ns, stopped=self._stopped, decided=self._decided, lost=lost
        )

    async def _begin(self) -> bool:
        """Start all workers, then all loads at one instant; False where the run was ended before."""
        ready = asyncio.ensure_future(_all(worker.start() for worker in self._workers))
        told = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((ready, told), return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                return False
            ready.result()
        finally:
            for waiting in (ready, told):
                waiting.cancel()
            await asyncio.gather(ready, told, return_exceptions=True)
        self.started_ns = time.monotonic_ns() + max(worker.lead_ns for worker in self._workers)
        await self._tell_all(Start(at_ns=self.started_ns))
        return True

    async def _follow(self, worker: Member) -> None:
        """Hear what a worker says until it is over. One that didn't come to its end ends the others."""
        while (message := await worker.hear()) is not None:
            if isinstance(message, Beat):
                self._limits.take(message.bins)
                await self._drain_beyond_limits()
            elif isinstance(message, Counted) and self._looking is not None:
                self._looking.take(worker.order.worker, message.part)
        if worker.lost is not None and worker.status is not None:
            elapsed_ns = max(worker.status.elapsed_ns, time.monotonic_ns() - self.started_ns)
            worker.status = msgspec.structs.replace(worker.status, elapsed_ns=elapsed_ns, in_flight=0)
        if worker.done is None or worker.done.fault is not None:
            await self._cut()

    async def _drain_beyond_limits(self) -> None:
        statuses = [worker.status for worker in self._workers]
        known = [status for status in statuses if status is not None]
        if self._stopped is not None or self._decided is not None or len(known) < len(statuses):
            return
        self._stopped = self._limits.passed(known)
        if self._stopped is not None:
            await self._tell_all(Drain(reason=self._stopped))

    async def _look(self) -> None:
        """End the sending as soon as the objectives are decided, where that is asked for."""
        looking = self._looking
        while looking is not None and self._stopped is None and self._decided is None:
            await asyncio.sleep(LOOK_S)
            elapsed_ns = time.monotonic_ns() - self.started_ns
            if not self.started_ns:
                continue
            if looking.is_due(elapsed_ns, [worker.status for worker in self._workers]):
                await self._tell_all(Count())
            elif looking.has_all_of(len(self._workers)):
                status = msgspec.structs.replace(self.status(), elapsed_ns=elapsed_ns)
                self._decided = looking.look(status)
                if self._decided is not None:
                    await self._tell_all(Drain(reason="all objectives are decided"))

    async def _cut_when_told(self) -> None:
        await self._stop.wait()
        await self._cut()

    async def _cut(self) -> None:
        await self._tell_all(Cut())
        asyncio.get_running_loop().call_later(CUT_S, self._kill_the_rest)

    def _kill_the_rest(self) -> None:
        for worker in self._workers:
            worker.kill()

    async def _tell_all(self, message: Message) -> None:
        await _all(worker.tell(message) for worker in self._workers)

    def _put_together(self) -> None:
        """What the workers counted, and their journals: of one that was lost, what its journal holds."""
        for worker in self._workers:
            if worker.done is not None:
                self._tally.merge(worker.done.part)
            elif (path := Path(worker.order.journal)).exists():
                for record in read_journal(path):
                    self._tally.add(record)
        faults = [worker.done.fault for worker in self._workers if worker.done and worker.done.fault]
        with contextlib.suppress(*((JournalError,) if faults else ())):  # the disk is full, as was said
            put_together(self._journal_path)
        if faults:
            raise JournalError(faults[0])


async def _all(works: Iterable[Awaitable[None]]) -> None:
    await asyncio.gather(*works)


def _nothing_yet() -> LoadStatus:
    health = HealthProbe().report(LoadFacts(), is_open=False)
    return LoadStatus(pace=Pace().state(), live=LiveView().state(), health=health)
