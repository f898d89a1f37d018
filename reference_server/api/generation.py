"""Run all choices of a request through the engine and hand on what is new in each."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, cast

from reference_server.api.errors import ApiError
from reference_server.api.usage import Usage, make_usage
from reference_server.engine.client import EngineClient, EngineDeadError, EngineGoneError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from reference_server.api.choice import Choice, Delta
    from reference_server.api.server_metrics import ServerMetrics
    from reference_server.engine.request import EngineOutput


class Generation:
    """The choices of one request while they are written.

    Args:
        client: The engine.
        metrics: Told of tokens and ends.
        choices: In the order of the answer.
        num_choices: Per prompt; those of a prompt stand together.
    """

    def __init__(
        self, client: EngineClient, metrics: ServerMetrics, choices: Sequence[Choice], num_choices: int
    ) -> None:
        self.choices = choices
        self._client = client
        self._metrics = metrics
        self._one_per_prompt = choices[::num_choices]
        self._prompt_tokens = sum(len(choice.request.prompt_token_ids) for choice in self._one_per_prompt)

    @property
    def usage(self) -> Usage:
        """Token counts so far: each prompt once, all choices."""
        return make_usage(
            self._prompt_tokens,
            sum(choice.num_tokens for choice in self.choices),
            sum(choice.num_cached_tokens for choice in self._one_per_prompt),
        )

    @property
    def metrics(self) -> dict[str, float | None] | None:
        """vLLM's per-request metrics, which exist for a single sequence only."""
        return self.choices[0].timing.as_metrics() if len(self.choices) == 1 else None

    def deltas(self) -> AsyncGenerator[Delta | None]:
        """What is new, as it comes: None once when the engine has begun, then deltas. Closing it aborts.

        Raises:
            ApiError: The engine failed, 500; it had failed before, 503.
        """
        return self._follow(self.choices[0]) if len(self.choices) == 1 else self._follow_all()

    async def _follow(self, choice: Choice) -> AsyncGenerator[Delta | None]:
        outputs = cast("AsyncGenerator[EngineOutput]", self._client.generate(choice.request))
        try:
            async with contextlib.aclosing(outputs):
                async for output in outputs:
                    begins = not choice.timing.last_output_ns
                    self._note_times(choice, output)
                    if begins:
                        yield None
                    if (delta := choice.take(output)) is not None:
                        yield delta
                    if choice.finish_reason is not None:
                        break
        except EngineDeadError as error:
            choice.finish_reason = "error"
            status = 503 if isinstance(error, EngineGoneError) else 500
            raise ApiError(status, f"The engine has stopped: {error}") from error
        finally:
            self._note_end(choice)

    async def _follow_all(self) -> AsyncGenerator[Delta | None]:
        events: asyncio.Queue[Delta | ApiError | None] = asyncio.Queue()
        pumps = [asyncio.create_task(self._pump(choice, events)) for choice in self.choices]
        try:
            yield await _next(events)
            num_open = len(self.choices)
            while num_open:
                if (delta := await _next(events)) is not None:
                    num_open -= delta.finish_reason is not None
                    yield delta
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _pump(self, choice: Choice, events: asyncio.Queue[Delta | ApiError | None]) -> None:
        try:
            async with contextlib.aclosing(self._follow(choice)) as deltas:
                async for delta in deltas:
                    events.put_nowait(delta)
        except ApiError as error:
            events.put_nowait(error)

    def _note_times(self, choice: Choice, output: EngineOutput) -> None:
        if output.finish_reason == "error":
            choice.finish_reason = "error"
            raise ApiError(400, output.error or "The engine refused the request.")
        timing, now_ns = choice.timing, time.monotonic_ns()
        timing.scheduled_ns, timing.first_token_ns = output.scheduled_ns, output.first_token_ns
        if not output.token_ids:
            return
        previous_ns, timing.last_output_ns = timing.last_output_ns, now_ns
        with self._metrics.harmless as metrics:
            if previous_ns:
                metrics.on_tokens(now_ns - previous_ns, len(output.token_ids))
            else:
                timing.first_output_ns = now_ns
                metrics.on_first_token(timing)

    def _note_end(self, choice: Choice) -> None:
        with self._metrics.harmless as metrics:
            metrics.on_finish(choice)


async def _next(events: asyncio.Queue[Delta | ApiError | None]) -> Delta | None:
    event = await events.get()
    if isinstance(event, ApiError):
        raise event
    return event
