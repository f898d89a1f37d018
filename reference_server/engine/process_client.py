"""An engine in a process of its own, so that HTTP never waits for a step and a step never waits for HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import sys
import tempfile
from typing import TYPE_CHECKING

import msgspec
import zmq

from reference_server.engine.loop_client import LoopClient, StepListener
from reference_server.engine.messages import Command, Reply, Stop

if TYPE_CHECKING:
    from reference_server.engine.config import EngineConfig

DEFAULT_FACTORY = "reference_server.engine.engine:load_engine"
CLOSE_TIMEOUT_S = 5.0


class ProcessClient(LoopClient):
    """Run an engine in a child process, over a ZeroMQ pair on a private socket file.

    The child ends when this process ends, however that comes about, and its death is noticed at once.

    Args:
        config: What the child shall load.
        on_step: Called on the event loop with the state after each step.
        factory: ``module:function`` that makes the engine from a config, in the child.
    """

    def __init__(
        self,
        config: EngineConfig,
        on_step: StepListener | None = None,
        factory: str = DEFAULT_FACTORY,
    ) -> None:
        super().__init__(on_step)
        self._config = config
        self._factory = factory
        self._context = zmq.Context(io_threads=1)
        self._socket = self._context.socket(zmq.PAIR)
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
        self._process: asyncio.subprocess.Process | None = None
        self._undertaker: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The child's process id, once it is launched."""
        return self._process.pid if self._process else None

    async def close(self) -> None:
        """Stop the child; a step that hangs is given a few seconds, then killed."""
        is_loading = self._ready is not None and not self._ready.done()
        self._close_streams()
        if self._undertaker is not None and not self._undertaker.done():
            if not is_loading:
                self._post(Stop())
                await asyncio.wait({self._undertaker}, timeout=CLOSE_TIMEOUT_S)
            await self._kill(self._undertaker)
        self._context.destroy(linger=0)

    async def _kill(self, undertaker: asyncio.Task[None]) -> None:
        if self._process is not None and not undertaker.done():
            self._process.kill()
            await undertaker

    async def _launch(self) -> None:
        folder = tempfile.mkdtemp(prefix="tokenpace-")
        try:
            address = f"ipc://{folder}/engine"
            self._listen(address)
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "reference_server.engine.worker", address, self._factory),
                msgspec.json.encode(self._config).decode(),
                stdin=asyncio.subprocess.PIPE,  # its end of file tells the child that this process is gone
                start_new_session=True,
            )
            self._undertaker = asyncio.create_task(self._await_end(self._process))
            assert self._ready is not None
            await asyncio.wait({self._ready})
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # both ends are connected: the file has served

    def _listen(self, address: str) -> None:
        self._socket.set_hwm(0)
        self._socket.bind(address)
        asyncio.get_running_loop().add_reader(self._socket.FD, self._drain)

    def _post(self, command: Command) -> None:
        with contextlib.suppress(zmq.Again):  # no peer: it has died, and all who wait hear so in a moment
            self._socket.send(self._encoder.encode(command), zmq.NOBLOCK)
        # Sending may swallow the edge that announces replies, so look again.
        asyncio.get_running_loop().call_soon(self._drain)

    def _drain(self) -> None:
        while not self._socket.closed:
            try:
                message = self._socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._receive(self._decoder.decode(message))

    async def _await_end(self, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        self._drain()
        asyncio.get_running_loop().remove_reader(self._socket.FD)
        self._die(f"the engine process ended with {_describe(code)}")


def _describe(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
