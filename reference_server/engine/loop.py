"""Drive an engine step by step for a client elsewhere, whatever lies between the two."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from reference_server.engine.messages import (
    Abort,
    Add,
    Command,
    Dead,
    Ping,
    Pong,
    Ready,
    Reply,
    ResetPrefixCache,
    Step,
    Stop,
)
from reference_server.engine.request import EngineInfo, EngineOutput, EngineRequest, EngineStats

if TYPE_CHECKING:
    from collections.abc import Callable

_logger = logging.getLogger(__name__)


class SteppedEngine(Protocol):
    """What the loop asks of an engine. All calls come from one thread."""

    @property
    def info(self) -> EngineInfo:
        """What was loaded."""

    @property
    def stats(self) -> EngineStats:
        """The state after the last step or abort."""

    @property
    def has_work(self) -> bool:
        """Whether ``step`` has anything to do."""

    def add(self, request: EngineRequest) -> None:
        """Queue a sequence.

        Raises:
            ValueError: The sequence can never be served; the message says why.
        """

    def abort(self, request_id: str) -> EngineOutput | None:
        """End a sequence now and free its blocks; None if it is not live."""

    def reset_prefix_cache(self) -> None:
        """Compute every prompt anew from now on."""

    def step(self) -> list[EngineOutput]:
        """Advance all running sequences by one step."""


class Mailbox(Protocol):
    """The engine's end of the line to its client."""

    def receive(self, *, wait: bool) -> list[Command]:
        """All commands that have come; with ``wait``, at least one."""

    def send(self, reply: Reply) -> None:
        """Pass a reply on without ever waiting for the client."""


class EngineLoop:
    """Commands in, a step, outputs out, until told to stop. Without work it blocks on its mailbox."""

    def __init__(self, engine: SteppedEngine, mailbox: Mailbox) -> None:
        self._engine = engine
        self._mailbox = mailbox
        self._outputs: list[EngineOutput] = []

    def run(self) -> None:
        """Serve until ``Stop``."""
        while self._take_commands():
            worked = self._engine.has_work
            if worked:
                self._outputs += self._engine.step()
            if worked or self._outputs:
                self._mailbox.send(Step(self._outputs, self._engine.stats))
                self._outputs = []

    def _take_commands(self) -> bool:
        for command in self._mailbox.receive(wait=not self._engine.has_work):
            match command:
                case Add(request):
                    self._add(request)
                case Abort(request_id):
                    if output := self._engine.abort(request_id):
                        self._outputs.append(output)
                case ResetPrefixCache():
                    self._engine.reset_prefix_cache()
                case Ping(number):
                    self._mailbox.send(Pong(number))
                case Stop():
                    return False
        return True

    def _add(self, request: EngineRequest) -> None:
        try:
            self._engine.add(request)
        except ValueError as error:
            self._outputs.append(
                EngineOutput(request_id=request.request_id, finish_reason="error", error=str(error))
            )


def load_and_run(load: Callable[[], SteppedEngine], mailbox: Mailbox) -> bool:
    """Load an engine and serve until told to stop; a fault is told to the client as ``Dead``.

    Returns:
        Whether it ended as asked.
    """
    try:
        engine = load()
    except Exception as error:
        _logger.debug("loading failed", exc_info=True)
        mailbox.send(Dead(str(error) or type(error).__name__))
        return False
    mailbox.send(Ready(engine.info))
    try:
        EngineLoop(engine, mailbox).run()
    except Exception as error:
        _logger.exception("the engine stopped after a fault in a step")
        mailbox.send(Dead(f"{type(error).__name__}: {error}"))
        return False
    return True
