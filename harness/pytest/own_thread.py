"""A run has a thread and an event loop of its own: the test's loop and its load don't disturb each other."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pytest

from harness import event_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

__tracebackhide__ = True


class OwnThread(Generic[T]):
    """Runs a coroutine to its end, once, however often it is waited for.

    Args:
        main: Makes the coroutine, in that thread.
        stop: Lets it end in order, in the name of what interrupts it.
    """

    def __init__(self, main: Callable[[], Coroutine[Any, Any, T]], stop: Callable[[str], None]) -> None:
        self._main = main
        self._stop = stop
        self._result: Future[T] = Future()
        self._has_begun = threading.Event()
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._thread = threading.Thread(target=self._work, name="tokenpace run", daemon=True)

    @property
    def left(self) -> T | None:
        """What it gave, also where the one who waited was interrupted; None where it gave nothing."""
        done = self._result.done() and not self._result.cancelled() and self._result.exception() is None
        return self._result.result() if done else None

    def wait(self) -> T:
        """Run it and wait, whether or not a loop runs in this thread. An interrupt ends the run first."""
        try:
            self._begin()
            return self._result.result()
        except BaseException as error:
            self._end(error)
            raise
        finally:
            self._thread.join()

    async def waited(self) -> T:
        """Run it without holding up the loop of this thread. A cancellation ends the run first."""
        try:
            self._begin()
            return await asyncio.shield(asyncio.wrap_future(self._result))
        except BaseException as error:
            self._end(error)
            raise
        finally:
            self._thread.join()

    def _begin(self) -> None:
        if self._thread.ident is None:
            self._thread.start()
            self._has_begun.wait()

    def _end(self, interrupt: BaseException) -> None:
        """Let it end in order; whoever interrupts that too ends it at once."""
        if self._result.done():
            return
        self._call(lambda _: self._stop(_name_of(interrupt)))
        try:
            self._thread.join()
        except BaseException:
            self._call(lambda task: task.cancel())
            raise

    def _call(self, tell: Callable[[asyncio.Task[Any]], object]) -> None:
        if self._running is not None:
            loop, task = self._running
            with contextlib.suppress(RuntimeError):  # it closed just now
                loop.call_soon_threadsafe(tell, task)

    def _work(self) -> None:
        try:
            result = event_loop.run(self._noted())
        except BaseException as error:  # noqa: BLE001 (raised again in the thread that waits)
            if self._result.set_running_or_notify_cancel():
                self._result.set_exception(error)
        else:
            if self._result.set_running_or_notify_cancel():
                self._result.set_result(result)
        finally:
            self._has_begun.set()

    async def _noted(self) -> T:
        task = asyncio.current_task()
        assert task is not None
        self._running = (asyncio.get_running_loop(), task)
        self._has_begun.set()
        return await self._main()


def _name_of(interrupt: BaseException) -> str:
    """As a result says it: the signal, or what else happened to the test.

    In a coroutine Ctrl-C comes as a cancellation, as a timeout does.
    """
    if isinstance(interrupt, KeyboardInterrupt):
        return "SIGINT"
    if isinstance(interrupt, asyncio.CancelledError):
        return "a cancellation"
    return str(interrupt.msg) if isinstance(interrupt, pytest.exit.Exception) else "the test"
