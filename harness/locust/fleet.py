"""The workers of a Locust master, which send the load of a run."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import click
import gevent

from harness.locust.line import NAME, STILL_HERE_S, Line
from harness.locust.mailbox import Mailbox
from harness.workers.remote import RemoteWorker

if TYPE_CHECKING:
    from collections.abc import Callable

    from locust.rpc.protocol import Message
    from locust.runners import MasterRunner

    from harness.workers.messages import Order

CLOCKS_AGREE_S: Final = 2.0
"""Wall clocks that differ by more are told of."""


class Fleet:
    """Finds workers among those that are connected, and carries what they and the run say to each other.

    Args:
        runner: Locust's, of the master.
    """

    def __init__(self, runner: MasterRunner) -> None:
        self._runner = runner
        self._run = ""
        self._lines: dict[str, Line] = {}
        self._mailbox: Mailbox[Callable[[], None]] = Mailbox(lambda act: act())
        self._warned_of: set[str] = set()
        self._speaking: gevent.Greenlet | None = None
        runner.register_message(NAME, self._take)

    def muster(self) -> int:
        """Take all that are ready now for a new run; how many. Those that come later are left out."""
        self._run = uuid4().hex
        runner = self._runner
        ready = sorted((each.id for each in runner.clients.ready), key=runner.get_worker_index)
        self._lines = {
            each: Line(functools.partial(self._send, self._run, each), self._mailbox.put) for each in ready
        }
        self._speaking = gevent.spawn(self._speak)
        return len(self._lines)

    def hire(self, order: Order) -> RemoteWorker:
        """The worker for an order; called on the engine's thread."""
        client_id, line = list(self._lines.items())[order.worker]
        return RemoteWorker(order, line, client_id)

    def dismiss(self) -> None:
        """The run is over."""
        if self._speaking is not None:
            self._speaking.kill()
        self._lines = {}

    def _send(self, run: str, client_id: str, data: bytes) -> None:
        self._runner.send_message(NAME, {"run": run, "data": data}, client_id)

    def _take(self, msg: Message, **_: Any) -> None:  # noqa: ANN401 (Locust's)
        line = self._lines.get(msg.node_id)
        if line is not None and msg.data["run"] == self._run:
            self._look_at_clock(msg.node_id, msg.data["wall_s"] - time.time())
            line.take(msg.data["data"])

    def _look_at_clock(self, client_id: str, ahead_s: float) -> None:
        """The run doesn't look at wall clocks; Locust does, for the rates in its own statistics."""
        if abs(ahead_s) > CLOCKS_AGREE_S and client_id not in self._warned_of:
            self._warned_of.add(client_id)
            click.echo(
                f"tokenpace: the wall clock of worker {client_id} is {abs(ahead_s):.0f} s "
                f"{'ahead' if ahead_s > 0 else 'behind'}: rates in Locust's own statistics are wrong by "
                "that, those of the result are not",
                err=True,
            )

    def _speak(self) -> None:
        while True:
            for line in list(self._lines.values()):
                line.say_still_here()
            gevent.sleep(STILL_HERE_S)
