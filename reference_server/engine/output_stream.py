"""The outputs of one sequence on their way to its one reader."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from reference_server.engine.request import EngineOutput


class OutputStream:
    """A mailbox that never blocks its writer: what piles up before a slow reader becomes one output."""

    __slots__ = ("_error", "_pending", "_waiter")

    def __init__(self) -> None:
        self._pending: list[EngineOutput] = []
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    def put(self, output: EngineOutput) -> None:
        """Hand an output over."""
        self._pending.append(output)
        self._wake()

    def fail(self, error: Exception) -> None:
        """Make the reader raise ``error`` once it has read what is there."""
        self._error = error
        self._wake()

    async def get(self) -> EngineOutput:
        """Wait for the next output; several that wait become one.

        Raises:
            Exception: The error given to ``fail``.
        """
        while not self._pending:
            if self._error is not None:
                raise self._error
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        pending, self._pending = self._pending, []
        return pending[0] if len(pending) == 1 else merge(pending)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def merge(outputs: list[EngineOutput]) -> EngineOutput:
    """One output with the tokens of all and the state of the last."""
    logprobs = [entry for output in outputs for entry in output.logprobs or ()]
    prompt_logprobs = (output.prompt_logprobs for output in outputs if output.prompt_logprobs is not None)
    return msgspec.structs.replace(
        outputs[-1],
        token_ids=[token_id for output in outputs for token_id in output.token_ids],
        logprobs=logprobs if any(output.logprobs is not None for output in outputs) else None,
        prompt_logprobs=next(prompt_logprobs, None),
    )
