"""A run that has not begun, or has not ended."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, NoReturn

from harness.pytest.plainly import plainly_awaited

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from harness.pytest.own_thread import OwnThread
    from harness.pytest.run import Run
    from harness.pytest.sender import Sender
    from harness.pytest.spine import FinishedRun
    from harness.workers.crew_size import Asked
    from scenarios.scenario import Scenario

__tracebackhide__ = True


class PendingRun:
    """Begins when it is first waited for or awaited; whoever does so again gets the same run.

    Args:
        sender: Sends it.
        scenario: What is sent.
        folder: Its result folder.
        workers: Processes that send it.
        ended: Told of the run when it is over.
        cut: Told of what it left where whoever waited was interrupted.
    """

    def __init__(
        self,
        sender: Sender,
        scenario: Scenario,
        folder: Path,
        workers: Asked,
        ended: Callable[[Run], None],
        cut: Callable[[Run], None],
    ) -> None:
        self._sender = sender
        self._workers = workers
        self._scenario = scenario
        self._folder = folder
        self._ended = ended
        self._cut = cut
        self._run: Run | None = None

    def wait(self) -> Run:
        """Run it and wait."""
        thread = self._thread
        with self._interruptible(thread):
            finished = thread.wait()
        return self._finish(finished)

    def __await__(self) -> Generator[Any, None, Run]:
        return self._waited().__await__()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"no '{name}' yet: in an async test write run = await load(...)")

    @plainly_awaited
    async def _waited(self) -> Run:
        thread = self._thread
        with self._interruptible(thread):
            finished = await thread.waited()
        return self._finish(finished)

    @contextlib.contextmanager
    def _interruptible(self, thread: OwnThread[FinishedRun]) -> Iterator[None]:
        try:
            yield
        except BaseException:
            left = thread.left
            if left is not None and self._run is None:
                self._run = self._sender.run_of(left, self._folder)
                self._cut(self._run)
            raise

    @functools.cached_property
    def _thread(self) -> OwnThread[FinishedRun]:
        return self._sender.thread(self._scenario, self._folder, self._workers)

    def _finish(self, finished: FinishedRun) -> Run:
        if self._run is None:
            self._run = self._sender.run_of(finished, self._folder)
            self._ended(self._run)
        return self._run
