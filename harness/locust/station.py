"""A worker of Locust's: what the harness does in it."""

from __future__ import annotations

import functools
import logging
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import gevent
from gevent.event import Event

from harness import event_loop, native
from harness.embedding import Embedding
from harness.locust.answer import Answer
from harness.locust.engine import prepare
from harness.locust.line import NAME, SILENCE_S, STILL_HERE_S, Line
from harness.locust.mailbox import Mailbox
from harness.locust.signals import Signals
from harness.locust.statistics import count
from harness.past_scenario import past_scenario
from harness.version import __version__
from harness.workers.messages import Order, decode
from harness.workers.worker import work_for
from reports.result import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from locust.env import Environment
    from locust.rpc.protocol import Message
    from locust.runners import WorkerRunner

    from harness.record import Record

GRACE_S: Final = 3.0
"""The master, which may have got the same signal, has so long to end the run in order."""
_END_S: Final = 10.0

_LOG: Final = logging.getLogger(__name__)


class Station:
    """Sends the share of a load that the master's run gives to this process, by an engine on a real thread.

    Locust's own messages about users mean nothing to it: the run says when the load begins and ends.

    Args:
        environment: Locust's.
        runner: Likewise, of this worker.
    """

    def __init__(self, environment: Environment, runner: WorkerRunner) -> None:
        self._environment = environment
        self._runner = runner
        self._signals = Signals()
        self._work: _Work | None = None

    def listen(self) -> None:
        """Listen from now on."""
        self._runner.register_message(NAME, self._take)
        self._environment.events.quitting.add_listener(self._quit)
        self._signals.listen()

    def _take(self, msg: Message, **_: Any) -> None:  # noqa: ANN401 (Locust's)
        run, data = msg.data["run"], msg.data["data"]
        if self._work is None or self._work.run != run:
            order = decode(data) if data else None
            if not isinstance(order, Order):
                return
            self._work = _Work(self._environment, self._runner, run, order)
            if order.manifest.tool_version != __version__:
                self._work.line.leave(f"it has tokenpace {__version__}; install the master's version")
                self._work.is_over.set()
                return
            gevent.spawn(self._do, self._work)
        self._work.line.take(data)

    def _do(self, work: _Work) -> None:
        work.do()
        if work.line.is_silent:
            click.echo(
                f"tokenpace: the master said nothing for {SILENCE_S:g} s; this worker leaves", err=True
            )
            self._environment.process_exit_code = Verdict.INVALID.exit_code
            self._runner.quit()

    def _quit(self, **_: object) -> None:
        """The process is about to end. The master is to end what is under way; else it fails by name."""
        gevent.sleep(0)  # a signal's name is noted by a greenlet that may be next in turn
        work = self._work
        if work is None or work.is_over.wait(GRACE_S):
            return
        work.line.leave(f"it was ended by {self._signals.name or 'Locust'}")
        self._environment.process_exit_code = Verdict.INVALID.exit_code
        work.is_over.wait(_END_S)


class _Work:
    """The share of one run."""

    def __init__(self, environment: Environment, runner: WorkerRunner, run: str, order: Order) -> None:
        self.run = run
        self.is_over = Event()
        self._environment = environment
        self._runner = runner
        self._loop = order.manifest.loop
        self._name = past_scenario(order.manifest.scenario).endpoint
        self._hub = gevent.get_hub()
        self._mailbox: Mailbox[Callable[[], None]] = Mailbox(lambda act: act())
        self.line = Line(self._send, self._mailbox.put, self._report)

    def do(self) -> None:
        """Send it, and wait until that is over; to be called once, by a greenlet of its own."""
        speaking = gevent.spawn(self._speak)
        try:
            prepare()
            native.new_thread(self._on_thread, "tokenpace engine").start()
            self.is_over.wait()
        finally:
            speaking.kill()
        self._mailbox.close()

    def _on_thread(self) -> None:
        try:
            event_loop.run(self._main())
        except BaseException:  # noqa: BLE001 (told; the master finds this worker silent)
            _LOG.exception("tokenpace: the engine failed")
        self._hub.loop.run_callback_threadsafe(self.is_over.set)

    async def _main(self) -> None:
        with tempfile.TemporaryDirectory(prefix="tokenpace-") as folder:
            await work_for(self.line, Embedding(on_record=self._put), Path(folder))

    def _put(self, record: Record) -> None:
        """On the engine's thread."""
        self._mailbox.put(functools.partial(self._count, Answer("", record)))

    def _count(self, answer: Answer) -> None:
        try:
            count(self._environment, answer, self._name, self._loop)
        except Exception:  # noqa: BLE001 (what listeners have Locust's tasks do; there are none here)
            _LOG.exception("tokenpace: a listener of Locust's event 'request' failed")

    def _report(self) -> None:
        """Locust's own rows, before the word that this share is over: none of them comes too late."""
        data: dict[str, Any] = {}
        self._environment.events.report_to_master.fire(client_id=self._runner.client_id, data=data)
        self._runner.send_message("stats", data)

    def _send(self, data: bytes) -> None:
        self._runner.send_message(NAME, {"run": self.run, "data": data, "wall_s": time.time()})

    def _speak(self) -> None:
        while True:
            self.line.say_still_here()
            gevent.sleep(STILL_HERE_S)
