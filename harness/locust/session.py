"""One test of Locust with our users in it: a run, and what Locust is told of it."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from gevent.event import AsyncResult
from locust.exception import StopTest

from harness.embedding import Embedding
from harness.locust.answer import Answer
from harness.locust.engine import Engine
from harness.locust.llm import Asking, Ended
from harness.locust.mailbox import Mailbox
from harness.locust.statistics import count

if TYPE_CHECKING:
    from collections.abc import Callable

    from locust.env import Environment

    from harness.locust.fleet import Fleet
    from harness.locust.order import Order
    from harness.record import Record
    from harness.run import Run

STOPPED: Final = "Locust"
"""In whose name a scenario ends that is stopped before its end, where no signal came."""


class Session:
    """From Locust's ``test_start`` to its ``test_stop``.

    Args:
        environment: Locust's.
        order: What to run.
        own_load: Whether the scenario's own load is sent. Else users ask, by ``asking``.
        fleet: Workers that send it; None where this process does.

    Attributes:
        engine: Sends.
        asking: Takes what users ask; None where the scenario has its own load.
        on_record: Told of each request that has ended, on Locust's side.
    """

    def __init__(
        self, environment: Environment, order: Order, *, own_load: bool, fleet: Fleet | None = None
    ) -> None:
        self._environment = environment
        self._name = order.scenario.endpoint
        self._mailbox: Mailbox[Ended] = Mailbox(self._deliver)
        self.asking = None if own_load else Asking(order.scenario, self._mailbox.put)
        self._fleet = fleet
        num_workers = 1 if fleet is None else fleet.muster()
        self.engine = Engine(order, self._embedding(), num_workers)
        self.on_record: Callable[[Record], None] = lambda _: None

    def start(self) -> None:
        """Begin the run and wait until its load begins.

        Raises:
            BaseException: It can't; nothing was sent.
        """
        self.engine.start()
        if self.engine.error is not None:
            self._close()
            raise self.engine.error

    def stopping(self, signal_name: str | None) -> None:
        """Locust is about to stop its users.

        Args:
            signal_name: Of the signal that told it to; None where none did.
        """
        if self.asking is not None:
            self.asking.is_ending = True
        if signal_name is not None or (self.asking is None and not self.engine.is_over):
            self.engine.interrupt(signal_name or STOPPED)

    def finish(self) -> Run | None:
        """All users have been stopped: end the run and wait for its result; None where it failed."""
        if self.asking is not None:
            self.asking.requests.close()
        self.engine.wait()
        self._close()
        return self.engine.run

    def _close(self) -> None:
        self._mailbox.close()
        if self._fleet is not None:
            self._fleet.dismiss()

    def _embedding(self) -> Embedding:
        notes = (f"sent from within Locust {version('locust')}, by an engine on a thread of its own",)
        if self._fleet is not None:
            return Embedding(notes=notes, hire=self._fleet.hire)
        if self.asking is None:
            return Embedding(on_record=self._put, notes=notes)
        load = {"load": _load_of(self._environment), "prompts": {"source": "locust"}}
        return Embedding(notes=notes, requests=self.asking.requests, load=load)

    def _put(self, record: Record) -> None:
        """On the engine's thread."""
        self._mailbox.put(Ended(Answer("", record), self._name, {}, AsyncResult()))

    def _deliver(self, ended: Ended) -> None:
        underway = self.engine.underway
        try:
            if ended.answer is not None and underway is not None:
                self.on_record(ended.answer.record)
                count(self._environment, ended.answer, ended.name, underway.manifest.loop, ended.context)
        except Exception as error:  # noqa: BLE001 (what listeners have Locust's tasks do: raised where one waits)
            ended.fail(error)
            if self.asking is None and isinstance(error, StopTest):
                self.engine.interrupt(STOPPED)
        else:
            ended.tell()


def _load_of(environment: Environment) -> dict[str, Any]:
    """What stands in the result for the load that Locust makes."""
    runner, shape = environment.runner, environment.shape_class
    assert runner is not None
    return {
        "arrivals": "locust",
        "users": runner.target_user_count if shape is None else None,
        "shape": None if shape is None else type(shape).__name__,
        "classes": sorted(each.__name__ for each in environment.user_classes),
    }
