"""What all clients of an engine loop share: who waits for what, and what happens when the engine is gone."""

from __future__ import annotations

import abc
import asyncio
import itertools
import logging
import math
import time
from collections.abc import AsyncIterator, Callable

from reference_server.engine.client import EngineClient, EngineDeadError, EngineGoneError
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
)
from reference_server.engine.output_stream import OutputStream
from reference_server.engine.request import EngineInfo, EngineOutput, EngineRequest, EngineStats

RECENT_STEP_S = 1.0
_CLOSED = "it was closed"
_logger = logging.getLogger(__name__)

StepListener = Callable[[EngineStats], None]


class LoopClient(EngineClient):
    """A client that posts commands and is handed replies; a subclass brings the line between the two.

    Args:
        on_step: Called on the event loop with the state after each step.
    """

    def __init__(self, on_step: StepListener | None = None) -> None:
        self.on_step = on_step
        self._streams: dict[str, OutputStream] = {}
        self._pings: dict[int, asyncio.Future[None]] = {}
        self._ping_numbers = itertools.count()
        self._ready: asyncio.Future[EngineInfo] | None = None
        self._death: EngineDeadError | None = None
        self._stats = EngineStats()
        self._last_step_s = -math.inf

    @abc.abstractmethod
    async def _launch(self) -> None:
        """Start the loop; its first reply is ``Ready`` or ``Dead``."""

    @abc.abstractmethod
    def _post(self, command: Command) -> None:
        """Send a command without waiting."""

    @property
    def stats(self) -> EngineStats:
        """The state after the latest step."""
        return self._stats

    async def start(self) -> EngineInfo:
        """Load the model and begin to serve."""
        self._ready = asyncio.get_running_loop().create_future()
        await self._launch()
        info = await self._ready
        self._stats = EngineStats(
            num_blocks=info.num_blocks,
            num_free_blocks=info.num_blocks,
            num_accepted_per_pos=(0,) * info.num_speculative_tokens,
        )
        return info

    async def generate(self, request: EngineRequest) -> AsyncIterator[EngineOutput]:
        """Stream the outputs of one sequence."""
        self._require_life()
        if request.request_id in self._streams:
            raise ValueError(f"request id {request.request_id!r} is live already; use a unique one")
        stream = self._streams[request.request_id] = OutputStream()
        finished = False
        self._post(Add(request))
        try:
            while not finished:
                output = await stream.get()
                finished = output.finish_reason is not None
                yield output
        finally:
            self._forget(request.request_id, abort=not finished)

    async def abort(self, request_id: str) -> None:
        """End a sequence; its reader gets a last output with ``finish_reason`` ``abort``."""
        if request_id in self._streams and self._death is None:
            self._post(Abort(request_id))

    async def ping(self, timeout_s: float) -> None:
        """Return once the loop has answered between two steps; a step just reported is an answer."""
        self._require_life()
        if time.monotonic() - self._last_step_s < RECENT_STEP_S:
            return
        await self._round_trip(timeout_s)

    async def reset_prefix_cache(self, timeout_s: float) -> None:
        """Let no sequence that comes later take over what was computed before."""
        self._require_life()
        self._post(ResetPrefixCache())
        await self._round_trip(timeout_s)

    async def _round_trip(self, timeout_s: float) -> None:
        """Return once the loop has taken all commands posted so far."""
        number = next(self._ping_numbers)
        answer = self._pings[number] = asyncio.get_running_loop().create_future()
        self._post(Ping(number))
        try:
            await asyncio.wait_for(answer, timeout_s)
        except TimeoutError:
            raise TimeoutError(f"the engine has not answered for {timeout_s:g} s: a step hangs") from None
        finally:
            self._pings.pop(number, None)

    def _receive(self, reply: Reply) -> None:
        if self._death is not None:  # a step that was under way: its streams have had their end
            return
        match reply:
            case Step(outputs, stats):
                self._take_step(outputs, stats)
            case Pong(number):
                if (answer := self._pings.get(number)) and not answer.done():
                    answer.set_result(None)
            case Ready(info):
                if self._ready and not self._ready.done():
                    self._ready.set_result(info)
            case Dead(reason):
                self._die(reason)

    def _take_step(self, outputs: list[EngineOutput], stats: EngineStats) -> None:
        stepped = stats.num_steps > self._stats.num_steps
        self._stats = stats
        if stepped:
            self._last_step_s = time.monotonic()
        for output in outputs:
            if (stream := self._streams.get(output.request_id)) is not None:
                stream.put(output)
        if stepped and self.on_step is not None:
            self.on_step(stats)

    def _close_streams(self) -> None:
        """End live sequences as aborted, and refuse what comes after."""
        for request_id, stream in self._streams.items():
            stream.put(EngineOutput(request_id=request_id, finish_reason="abort"))
        self._die(_CLOSED)

    def _die(self, reason: str) -> None:
        """Tell all who wait, once."""
        if self._death is not None:
            return
        if reason != _CLOSED and not self._is_loading:
            _logger.critical("the engine is dead: %s; restart the server", reason)
        self._death = EngineDeadError(reason)
        waiting = [future for future in (self._ready, *self._pings.values()) if future and not future.done()]
        for future in waiting:
            future.set_exception(self._death)
            future.exception()  # counts as seen, should its waiter have left
        for stream in self._streams.values():
            stream.fail(self._death)

    @property
    def _is_loading(self) -> bool:
        """Until then who starts it is told, and nobody else."""
        return self._ready is not None and not self._ready.done()

    def _forget(self, request_id: str, *, abort: bool) -> None:
        del self._streams[request_id]
        if abort and self._death is None:
            self._post(Abort(request_id))

    def _require_life(self) -> None:
        if self._death is not None:
            raise EngineGoneError(str(self._death))
