"""Token counts by the server under test: its own tokenize call, asked before the load."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from harness import event_loop, transport
from harness.errors import PreflightError
from harness.native import in_thread
from harness.timeline import End, Timeline
from harness.tokenize_calls import TokenizeCall, tokenize_calls
from harness.transport import HttpRequest
from harness.wire.error_text import error_text, one_line
from scenarios.timeouts import Timeouts
from scenarios.tokenizer import SERVER
from scenarios.tokenizers import TokenCounter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.target import Target
    from harness.transport import Transport
    from scenarios.scenario import Scenario
    from scenarios.schedule import Schedule

_NUM_AT_ONCE: Final = 8
_PATIENCE: Final = Timeouts.model_validate(dict.fromkeys(Timeouts.model_fields, "30s"))
_PROBE: Final = "how many tokens"
_VERSION: Final = re.compile(r"/v\d+$")


async def schedule_of(scenario: Scenario, target: Target, model: str) -> Schedule:
    """The schedule of a scenario, whoever its tokenizer is.

    Raises:
        PreflightError: The server has no tokenize call, or doesn't answer it.
        ScenarioError: As ``Scenario.schedule``.
    """
    if scenario.tokenizer != SERVER:
        return scenario.schedule()
    return await in_thread(lambda: scenario.schedule(ServerCounter(target, model)))


class ServerCounter(TokenCounter):
    """Asks the server for each text, a few at a time. To be used in a thread without an event loop.

    Args:
        target: The server.
        model: The model's name there.

    Raises:
        PreflightError: It has no tokenize call that is known here.
    """

    max_tokens: ClassVar[int] = 500_000
    max_texts: ClassVar[int] = 2_000

    def __init__(self, target: Target, model: str) -> None:
        self._target = target
        self._model = model
        self._num_special = 0
        self._call, self._path = event_loop.run(self._find())
        if self._call.counts_special:
            self._num_special = self.count([""])[0]
        self.name = f"the server's own tokenizer ({self._call.path})"

    def count(self, texts: Sequence[str]) -> list[int]:
        """See ``TokenCounter``.

        Raises:
            PreflightError: The server doesn't answer.
        """
        counts = event_loop.run(self._count_all(set(texts)))
        return [counts[text] - self._num_special for text in texts]

    async def _count_all(self, texts: set[str]) -> dict[str, int]:
        carrier = transport.choose(self._target, _PATIENCE)
        rest = iter(texts)
        counts = {}

        async def work() -> None:
            for text in rest:
                counts[text] = self._call.count(await self._ask(carrier, self._call, self._path, text))

        workers = [asyncio.ensure_future(work()) for _ in range(_NUM_AT_ONCE)]
        try:
            await asyncio.gather(*workers)
        except (_NoReplyError, msgspec.MsgspecError) as error:
            raise PreflightError(f"tokenizer: server: {one_line(str(error))}", "http_error") from error
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await carrier.close()
        return counts

    async def _find(self) -> tuple[TokenizeCall, str]:
        carrier = transport.choose(self._target, _PATIENCE)
        reasons = []
        try:
            for call, path in self._places():
                try:
                    call.count(await self._ask(carrier, call, path, _PROBE))
                except (_NoReplyError, msgspec.MsgspecError) as error:
                    reasons.append(one_line(str(error)))
                else:
                    return call, path
        finally:
            await carrier.close()
        raise PreflightError(_not_found(self._target, reasons[-1]), "http_error")

    def _places(self) -> Iterator[tuple[TokenizeCall, str]]:
        """Every dialect beside the base path without its ``/v1``, at the root, and beside the endpoints."""
        base = _VERSION.sub("", self._target.base_path)
        query = f"?{self._target.query}" if self._target.query else ""
        for call in tokenize_calls():
            for place in dict.fromkeys((base, "", self._target.base_path)):
                yield call, f"{place}{call.path}{query}"

    async def _ask(self, carrier: Transport, call: TokenizeCall, path: str, text: str) -> bytes:
        body = msgspec.json.encode(call.body(text, self._model))
        timeline = Timeline(time.monotonic_ns())
        await carrier.exchange(HttpRequest("POST", path, body, "application/json"), timeline)
        reply = b"".join(timeline.reads)
        where = path.partition("?")[0]
        if timeline.end is not End.COMPLETE or timeline.status is None:
            raise PreflightError(
                f"tokenizer: server: {where} doesn't answer: {self._target.mask(timeline.message)}",
                "http_error",
            )
        if timeline.status != 200:
            message = self._target.mask(error_text(reply))
            raise _NoReplyError(f"{where} answers {timeline.status}: {message}")
        return reply


class _NoReplyError(Exception):
    """Another kind of answer came."""


def _not_found(target: Target, reason: str) -> str:
    servers = ", ".join(call.servers for call in tokenize_calls())
    return (
        f"tokenizer: server: {target.url} has no tokenize call such as those of {servers} ({reason}); name a "
        "tokenizer.json, a model's folder or a .gguf file, or write tokenizer: words"
    )
