"""The engine's own process: ``python -m reference_server.engine.worker ADDRESS FACTORY CONFIG``."""

from __future__ import annotations

import gc
import importlib
import logging
import os
import signal
import sys
import threading
from typing import cast

import msgspec
import zmq

from reference_server.engine.config import EngineConfig
from reference_server.engine.loop import SteppedEngine, load_and_run
from reference_server.engine.messages import Command, Reply
from reference_server.engine.threads import prepare_threads

LINGER_MS = 1000


class ZmqMailbox:
    """The child's end of the pair.

    Args:
        address: Where the parent listens.
    """

    def __init__(self, address: str) -> None:
        self._context = zmq.Context(io_threads=1)
        self._socket = self._context.socket(zmq.PAIR)
        self._socket.set_hwm(0)
        self._socket.connect(address)
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[Command] = msgspec.msgpack.Decoder(Command)

    def receive(self, *, wait: bool) -> list[Command]:
        """All commands that have come; with ``wait``, at least one."""
        messages = [self._socket.recv()] if wait else []
        while self._socket.poll(0):
            messages.append(self._socket.recv())
        return [self._decoder.decode(message) for message in messages]

    def send(self, reply: Reply) -> None:
        """Pass a reply on; the queue has no bound, so this never waits."""
        self._socket.send(self._encoder.encode(reply))

    def close(self) -> None:
        """Deliver what is queued, then let go."""
        self._context.destroy(linger=LINGER_MS)


def load(factory: str, config: EngineConfig) -> SteppedEngine:
    """Make the engine by ``module:function``, and keep it out of later garbage collections."""
    module, _, function = factory.partition(":")
    engine = getattr(importlib.import_module(module), function)(config)
    gc.collect()
    gc.freeze()
    return cast("SteppedEngine", engine)


def end_with_parent() -> None:
    """End this process, even in the middle of a step, when the parent's end of standard input closes."""

    def watch() -> None:
        while os.read(0, 1024):
            pass
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def main(address: str, factory: str, config_json: str) -> int:
    """Serve one parent. Signals for the group are the parent's affair: it drains and then says stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    end_with_parent()
    prepare_threads()
    config = msgspec.json.decode(config_json, type=EngineConfig)
    mailbox = ZmqMailbox(address)
    asked_to_end = load_and_run(lambda: load(factory, config), mailbox)
    mailbox.close()
    return 0 if asked_to_end else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
