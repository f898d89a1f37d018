"""The one interface between HTTP and an engine, whether it lives in a thread or in a process of its own."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from reference_server.engine.request import EngineInfo, EngineOutput, EngineRequest, EngineStats


class EngineDeadError(RuntimeError):
    """The engine has stopped and will answer nothing more. The message says why."""


class EngineGoneError(EngineDeadError):
    """The engine had stopped before it was asked: nothing was begun."""


class EngineClient(abc.ABC):
    """What the API may ask of an engine. All methods are called on the API's event loop."""

    @abc.abstractmethod
    async def start(self) -> EngineInfo:
        """Load the model and begin to serve.

        Raises:
            EngineDeadError: The model can't be loaded; the message names the remedy.
        """

    @abc.abstractmethod
    def generate(self, request: EngineRequest) -> AsyncIterator[EngineOutput]:
        """Stream the outputs of one sequence; the last has a ``finish_reason``.

        Closing the iterator early aborts the sequence and frees its blocks.

        Raises:
            EngineGoneError: The engine was dead already.
            EngineDeadError: The engine died before the sequence was finished.
        """

    @abc.abstractmethod
    async def abort(self, request_id: str) -> None:
        """End a sequence with ``finish_reason`` ``abort``. Unknown ids are ignored."""

    @abc.abstractmethod
    async def ping(self, timeout_s: float) -> None:
        """Return once the engine's own loop has answered; a step reported a moment ago is an answer.

        Raises:
            EngineDeadError: The engine is dead.
            TimeoutError: No answer within ``timeout_s`` seconds: it hangs.
        """

    @abc.abstractmethod
    async def reset_prefix_cache(self, timeout_s: float) -> None:
        """Let no sequence that comes later take over what was computed before.

        Raises:
            EngineDeadError: The engine is dead.
            TimeoutError: No answer within ``timeout_s`` seconds: it hangs.
        """

    @property
    @abc.abstractmethod
    def stats(self) -> EngineStats:
        """The latest state that the engine has reported."""

    @abc.abstractmethod
    async def close(self) -> None:
        """Stop the engine and wait for its end. Sequences still live end with ``abort``."""
