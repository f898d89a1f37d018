"""A run has a thread and an event loop of its own: the test's loop and its load don't disturb each other."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from harness import event_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

__tracebackhide__ = True


class OwnThread(Generic[T]):
    """Runs a coroutine to its end, once, however often it is waited for.

    Args:
        main: Makes the coroutine, in that thread.
    """

    def __init__(self, main: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._main = main
        self._result: Future[T] = Future()
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._thread = threading.Thread(target=self._work, name="tokenpace run", daemon=True)

    def wait(self) -> T:
        """Run it and wait, whether or not a loop runs in this thread. An interrupt ends the run first."""
        self._begin()
        try:
            return self._result.result()
        finally:
            self._end()

    async def waited(self) -> T:
        """Run it without holding up the loop of this thread. A cancellation ends the run first."""
        self._begin()
        try:
            return await asyncio.wrap_future(self._result)
        finally:
            self._end()

    def _begin(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def _end(self) -> None:
        if self._running is not None and not self._result.done():
            loop, task = self._running
            with contextlib.suppress(RuntimeError):  # it closed just now
                loop.call_soon_threadsafe(task.cancel)
        self._thread.join()

    def _work(self) -> None:
        try:
            result = event_loop.run(self._noted())
        except BaseException as error:  # noqa: BLE001 (raised again in the thread that waits)
            if self._result.set_running_or_notify_cancel():
                self._result.set_exception(error)
        else:
            if self._result.set_running_or_notify_cancel():
                self._result.set_result(result)

    async def _noted(self) -> T:
        task = asyncio.current_task()
        assert task is not None
        self._running = (asyncio.get_running_loop(), task)
        return await self._main()
