"""The engine: one run, on a thread of the operating system with an event loop of its own."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib.util
import logging
import os
import platform
from typing import TYPE_CHECKING

import gevent
import msgspec
from gevent.event import Event

from harness import event_loop, native
from harness.errors import HarnessError
from harness.interruption import Interruption
from harness.run import Run, run
from harness.transport.connector import READER_VARIABLE
from harness.transport.reader import NoReaderError
from harness.transport.reader.library import load_library

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.embedding import Embedding, Underway
    from harness.locust.order import Order


class EngineError(HarnessError):
    """The engine can't work in this process."""


class Engine:
    """Sends, stamps, records and judges; greenlets wait for it. All methods are for greenlets.

    Args:
        order: What to run.
        embedding: What to tell of the run; ``on_begin`` is the engine's own, whatever it is here.
        workers: How many send, where the embedding has them.

    Attributes:
        underway: The run while it goes on: to be looked at on the engine's loop (``call``). None before.
        run: The run, once it is over. None where it failed.
        error: Why it failed.
    """

    def __init__(self, order: Order, embedding: Embedding, workers: int = 1) -> None:
        if importlib.util.find_spec("uvloop") is None:
            raise EngineError(
                "within Locust the harness needs uvloop, which this system lacks; use tokenpace run"
            )
        self.underway: Underway | None = None
        self.run: Run | None = None
        self.error: BaseException | None = None
        self._order = order
        self._workers = workers
        self._embedding = dataclasses.replace(embedding, on_begin=self._begin)
        self._interruption = Interruption()
        self._interrupted_by: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._hub = gevent.get_hub()
        self._has_begun, self._is_over = Event(), Event()

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, well or not."""
        is_over: bool = self._is_over.is_set()
        return is_over

    def start(self) -> None:
        """Begin the run and wait until its load begins, or it is known why it can't."""
        try:
            prepare()
            native.new_thread(self._work, "tokenpace engine").start()
        except BaseException as error:  # a greenlet may be killed: Locust's test has been stopped
            self.error = error
            self._is_over.set()
            raise
        self._has_begun.wait()

    def interrupt(self, name: str) -> None:
        """Have the run end at once, cut by what ``name`` says: a signal, or who else."""
        self._interrupted_by = self._interrupted_by or name
        self.call(self._tell)

    def wait(self) -> None:
        """Wait until the run is over, its reports included."""
        self._is_over.wait()

    def call(self, what: Callable[[], object]) -> None:
        """Have the engine's thread call something soon; nothing happens once the run is over."""
        event_loop.call_soon(self._loop, what)

    def _tell(self) -> None:
        if self._interrupted_by is not None:
            self._interruption.tell(self._interrupted_by)

    def _work(self) -> None:
        try:
            self.run = event_loop.run(self._main())
        except BaseException as error:  # noqa: BLE001 (told by whoever waits)
            self.error = error
        for event in (self._has_begun, self._is_over):
            self._hub.loop.run_callback_threadsafe(event.set)

    async def _main(self) -> Run:
        self._loop = asyncio.get_running_loop()
        self._tell()
        order = self._order
        return await run(
            order.scenario,
            **msgspec.structs.asdict(order.address),
            model=order.model,
            result_dir=order.output,
            reports=order.reports or None,
            telemetry=order.telemetry,
            workers=self._workers,
            baseline=order.baseline,
            interruption=self._interruption,
            embedding=self._embedding,
        )

    def _begin(self, underway: Underway) -> None:
        self.underway = underway
        self._hub.loop.run_callback_threadsafe(self._has_begun.set)


def prepare() -> None:
    """Do here what starts processes, and is kept: the engine's thread can't, where gevent has patched."""
    logging.getLogger("httpx").setLevel(logging.WARNING)  # else each look at the server's metrics is shown
    platform.platform()
    try:
        load_library()
    except NoReaderError:
        os.environ[READER_VARIABLE] = "loop"
