"""A client by the name that the configuration gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.engine.process_client import ProcessClient
from reference_server.engine.thread_client import ThreadClient
from reference_server.engine.threads import prepare_threads

if TYPE_CHECKING:
    from reference_server.engine.config import EngineConfig
    from reference_server.engine.loop import SteppedEngine
    from reference_server.engine.loop_client import LoopClient


def make_client(kind: str, config: EngineConfig) -> LoopClient:
    """An engine client that is not started yet.

    Args:
        kind: ``process`` or ``thread``.
        config: What to load.
    """
    if kind == "process":
        return ProcessClient(config)
    prepare_threads()
    return ThreadClient(lambda: _load(config))


def _load(config: EngineConfig) -> SteppedEngine:
    from reference_server.engine.engine import (
        load_engine,  # imports torch, which a process client never needs
    )

    return load_engine(config)
