"""The load of a run, sent by this process."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from harness.client_health import HealthProbe
from harness.decided import LOOK_S
from harness.drivers import Brake, LoadFacts, generate
from harness.journal import Journal
from harness.live_view import LiveView
from harness.load_status import LoadStatus
from harness.summary.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from harness.client import Client
    from harness.drivers.load import Load
    from harness.embedding import Embedding
    from harness.looks import Looks
    from harness.record import Record
    from harness.tally import Tally
    from scenarios.schedule import Schedule


class LocalLoad:
    """Sends a schedule; every record goes to the journal and into the tally.

    Args:
        schedule: What to send when.
        client: How to send it.
        tally: Takes the records.
        journal_path: The journal, new.
        stop: Set it to end the load now.
        facts: Filled while the load goes on; new ones by default.
        brake: Ends the sending early; the one of the schedule's limits by default.
        looks: At the objectives, where the load ends as soon as they are decided.
        embedding: The tool in which the run goes on; None for a run by itself.
    """

    def __init__(
        self,
        schedule: Schedule,
        client: Client,
        tally: Tally,
        journal_path: Path,
        stop: asyncio.Event,
        *,
        facts: LoadFacts | None = None,
        brake: Brake | None = None,
        looks: Looks | None = None,
        embedding: Embedding | None = None,
    ) -> None:
        self._schedule = schedule
        self._client = client
        self._tally = tally
        self._journal_path = journal_path
        self._stop = stop
        self._facts = facts or LoadFacts()
        self._brake = brake or Brake(schedule.stop, self._facts)
        self._probe = HealthProbe(client.transport.receive_delays, self._facts)
        self._pace = Pace()
        self._view = LiveView()
        self._looks = looks
        self._embedding = embedding

    @property
    def started_ns(self) -> int:
        """Monotonic time of the start; 0 before it."""
        return self._facts.started_ns

    async def run(self, start_ns: int | None = None) -> None:
        """Send all of it.

        Args:
            start_ns: When, on the monotonic clock; now by default.

        Raises:
            JournalError: The journal can't be written. What was measured until then is in the tally.
        """
        with Journal(self._journal_path) as journal, self._probe:

            def on_record(record: Record) -> None:
                self._tally.add(record)
                self._probe.observe(record)
                self._pace.add(record)
                self._view.add(record)
                journal.append(record)
                if self._embedding is not None:
                    self._embedding.on_record(record)

            looking = asyncio.ensure_future(self._look())
            try:
                await generate(
                    self._schedule,
                    self._client,
                    on_record,
                    self._stop,
                    facts=self._facts,
                    brake=self._brake,
                    start_ns=start_ns,
                    samples=self._tally.max_samples,
                    drive=self._drive,
                )
            finally:
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)

    @property
    def _drive(self) -> Callable[[Load], Awaitable[None]] | None:
        requests = None if self._embedding is None else self._embedding.requests
        return None if requests is None else requests.drive

    async def _look(self) -> None:
        """End the sending as soon as the objectives are decided, where that is asked for."""
        while self._looks is not None and self._facts.decided is None:
            await asyncio.sleep(LOOK_S)
            if self._looks.is_due(self._elapsed_ns(), self._facts.num_ended):
                decided = self._looks.look(self._tally, self.status())
                if decided is not None:
                    self._brake.let_end(decided)

    def status(self) -> LoadStatus:
        """How it stands."""
        facts, is_open = self._facts, self._schedule.loop == "open"
        return LoadStatus(
            started_ns=facts.started_ns,
            elapsed_ns=self._elapsed_ns(),
            num_sent=facts.num_sent,
            in_flight=facts.in_flight,
            num_backoffs=facts.num_backoffs,
            stopped=facts.stop_reason,
            decided=facts.decided,
            pace=self._pace.state(),
            live=self._view.state(),
            health=self._probe.report(facts, self._pace.rates() if is_open else None, is_open=is_open),
        )

    def _elapsed_ns(self) -> int:
        if not self._facts.started_ns:
            return 0
        return max(0, (self._facts.ended_ns or time.monotonic_ns()) - self._facts.started_ns)
