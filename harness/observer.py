"""Looks at a run while it goes on: a checkpoint on disk every second, and the live display."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Final

from harness.result_folder import Checkpoint, ResultFolderError
from reports.progress import Snapshot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from harness.client_health import HealthProbe
    from harness.drivers import LoadFacts
    from harness.interruption import Interruption
    from harness.live_view import LiveView
    from harness.result_folder import ResultFolder
    from reports.progress import Progress
    from scenarios.schedule import Schedule

LOOK_INTERVAL_S: Final = 0.5
LOOKS_PER_CHECKPOINT: Final = 2


class Observer:
    """Reads what the parts of a run know and disturbs none of them.

    Args:
        schedule: The limits of the run.
        facts: Of the driver.
        probe: Of the harness's own error.
        interruption: Whether the run was told to end.
        view: The few numbers that are shown.
    """

    def __init__(
        self,
        schedule: Schedule,
        facts: LoadFacts,
        probe: HealthProbe,
        interruption: Interruption,
        view: LiveView,
    ) -> None:
        self._schedule = schedule
        self._facts = facts
        self._probe = probe
        self._interruption = interruption
        self._view = view

    @contextlib.asynccontextmanager
    async def watching(self, folder: ResultFolder, progress: Progress | None) -> AsyncIterator[None]:
        """Save and show while the block runs. The disk is written to by another thread.

        A checkpoint that can't be written is left out: the journal, on the same disk, ends such a run.
        """
        task = asyncio.ensure_future(self._watch(folder, progress))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self, folder: ResultFolder, progress: Progress | None) -> None:
        look = 0
        while True:
            if look % LOOKS_PER_CHECKPOINT == 0:
                with contextlib.suppress(ResultFolderError):
                    await asyncio.to_thread(folder.save, self.checkpoint(finished=False))
            if progress is not None:
                progress.update(self._snapshot())
            look += 1
            await asyncio.sleep(LOOK_INTERVAL_S)

    def checkpoint(self, *, finished: bool) -> Checkpoint:
        """How far the run is."""
        return Checkpoint(
            elapsed_ns=self._elapsed_ns(),
            finished=finished,
            interrupted=self._interruption.signal_name,
            health=self._probe.report(self._facts, is_open=self._schedule.loop == "open"),
            stopped=self._facts.stop_reason,
            num_backoffs=self._facts.num_backoffs,
            started_ns=self._facts.started_ns,
        )

    def _elapsed_ns(self) -> int:
        facts = self._facts
        return (facts.ended_ns or time.monotonic_ns()) - facts.started_ns if facts.started_ns else 0

    def _snapshot(self) -> Snapshot:
        schedule, facts, view = self._schedule, self._facts, self._view
        elapsed_ns = self._elapsed_ns()
        return Snapshot(
            elapsed_s=elapsed_ns / 1e9,
            duration_s=None if schedule.duration_ns is None else schedule.duration_ns / 1e9,
            total=schedule.num_requests,
            sent=facts.num_sent,
            in_flight=facts.in_flight,
            ok=view.num_ok,
            failed=view.num_failed,
            ttft_p50=view.percentile("ttft", 50),
            ttft_p95=view.percentile("ttft", 95),
            tpot_p50=view.percentile("tpot", 50),
            tokens_per_s=view.tokens_per_s(),
            phase=self._phase(elapsed_ns),
        )

    def _phase(self, elapsed_ns: int) -> str:
        schedule = self._schedule
        if self._interruption.signal_name is not None:
            return "interrupted"
        if self._facts.stop_reason is not None:
            return "draining"
        if elapsed_ns < schedule.warmup_ns:
            return "warm-up"
        if schedule.duration_ns is not None and elapsed_ns > schedule.duration_ns:
            return "draining"
        return "measuring"
