"""An engine in a thread of this process, for tests and notebooks. Python code here and there takes turns."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import TYPE_CHECKING

from reference_server.engine.loop import SteppedEngine, load_and_run
from reference_server.engine.loop_client import LoopClient, StepListener
from reference_server.engine.messages import Command, Reply, Stop

if TYPE_CHECKING:
    from collections.abc import Callable


class ThreadClient(LoopClient):
    """Run an engine in a daemon thread.

    Args:
        load: Makes the engine; called in the thread.
        on_step: Called on the event loop with the state after each step.
    """

    def __init__(self, load: Callable[[], SteppedEngine], on_step: StepListener | None = None) -> None:
        super().__init__(on_step)
        self._load = load
        self._commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def close(self) -> None:
        """Stop the loop after its current step and wait for the thread."""
        self._commands.put(Stop())
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)
        self._close_streams()

    async def _launch(self) -> None:
        mailbox = _ThreadMailbox(self._commands, asyncio.get_running_loop(), self._receive)
        self._thread = threading.Thread(
            target=load_and_run, args=(self._load, mailbox), name="engine", daemon=True
        )
        self._thread.start()

    def _post(self, command: Command) -> None:
        self._commands.put(command)


class _ThreadMailbox:
    def __init__(
        self,
        commands: queue.SimpleQueue[Command],
        event_loop: asyncio.AbstractEventLoop,
        deliver: Callable[[Reply], None],
    ) -> None:
        self._commands = commands
        self._event_loop = event_loop
        self._deliver = deliver

    def receive(self, *, wait: bool) -> list[Command]:
        commands = [self._commands.get()] if wait else []
        while not self._commands.empty():
            commands.append(self._commands.get())
        return commands

    def send(self, reply: Reply) -> None:
        self._event_loop.call_soon_threadsafe(self._deliver, reply)
