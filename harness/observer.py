"""Looks at a run while it goes on: a checkpoint on disk every second, and the live display."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from typing import TYPE_CHECKING, Final

from harness.live_view import LiveView
from harness.native import in_thread
from harness.result_folder import Checkpoint, ResultFolderError
from reports.progress import Snapshot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from harness.interruption import Interruption
    from harness.load_status import LoadStatus
    from harness.result_folder import ResultFolder
    from reports.progress import Progress
    from scenarios.schedule import Schedule

LOOK_INTERVAL_S: Final = 0.5
LOOKS_PER_CHECKPOINT: Final = 2


class Observer:
    """Reads how a load stands and disturbs it in nothing.

    Args:
        schedule: The limits of the run.
        status: Says how the load stands.
        interruption: Whether the run was told to end.
    """

    def __init__(
        self, schedule: Schedule, status: Callable[[], LoadStatus], interruption: Interruption
    ) -> None:
        self._schedule = schedule
        self._status = status
        self._interruption = interruption

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
            status = self._status()
            if look % LOOKS_PER_CHECKPOINT == 0:
                with contextlib.suppress(ResultFolderError):
                    checkpoint = self._checkpoint(status, finished=False)
                    await in_thread(functools.partial(folder.save, checkpoint))
            if progress is not None:
                progress.update(self._snapshot(status))
            look += 1
            await asyncio.sleep(LOOK_INTERVAL_S)

    def checkpoint(self, *, finished: bool) -> Checkpoint:
        """How far the run is."""
        return self._checkpoint(self._status(), finished=finished)

    def _checkpoint(self, status: LoadStatus, *, finished: bool) -> Checkpoint:
        return Checkpoint(
            elapsed_ns=status.elapsed_ns,
            finished=finished,
            interrupted=self._interruption.signal_name,
            health=status.health,
            stopped=status.stopped,
            decided=status.decided,
            num_backoffs=status.num_backoffs,
            started_ns=status.started_ns,
            lost_workers=status.lost,
        )

    def _snapshot(self, status: LoadStatus) -> Snapshot:
        schedule, view = self._schedule, LiveView()
        view.merge(status.live)
        return Snapshot(
            elapsed_s=status.elapsed_ns / 1e9,
            duration_s=None if schedule.duration_ns is None else schedule.duration_ns / 1e9,
            total=schedule.num_requests,
            sent=status.num_sent,
            in_flight=status.in_flight,
            ok=view.num_ok,
            failed=view.num_failed,
            ttft_p50=view.percentile("ttft", 50),
            ttft_p95=view.percentile("ttft", 95),
            tpot_p50=view.percentile("tpot", 50),
            tokens_per_s=view.tokens_per_s(),
            phase=self._phase(status),
        )

    def _phase(self, status: LoadStatus) -> str:
        schedule = self._schedule
        if self._interruption.signal_name is not None:
            return "interrupted"
        if status.stopped is not None or status.decided is not None:
            return "draining"
        if status.elapsed_ns < schedule.warmup_ns:
            return "warm-up"
        if schedule.duration_ns is not None and status.elapsed_ns > schedule.duration_ns:
            return "draining"
        return "measuring"
