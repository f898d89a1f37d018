"""Records of answers whose stream ended and whose HTTP body didn't, by endpoint."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from harness.client import Client
from harness.exchange import Exchange
from harness.record import Outcome, Record
from harness.target import Target
from scenarios.request import Arrival, Prompt
from scenarios.timeouts import Timeouts
from tests.unit.transport.steps import HEAD, STALL, chunk

if TYPE_CHECKING:
    from tests.unit.transport.conftest import Serve

CHAT = b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
DELTA = b'data: {"type":"response.output_text.delta","delta":"a"}\n\n'
OPENAI = (
    b'data: {"type":"response.completed","response":{"status":"completed","usage":{"output_tokens":1}}}\n\n'
)
VLLM = b'data: {"response":{"status":"completed"},"sequence_number":3,"type":"response.completed"}\n\n'


def record(port: int, endpoint: str) -> Record:
    async def main() -> Record:
        client = Client(Target.parse(f"http://127.0.0.1:{port}"), endpoint, "m", Timeouts())
        prepared = client.prepare(Arrival(index=0, due_ns=0, prompt=Prompt(text="hi"), sampling={}))
        begun_ns = time.monotonic_ns()
        exchange = Exchange(client, prepared, begun_ns, lambda _: None, keep_text=True)
        try:
            await client.transport.exchange(prepared.request, exchange)
        finally:
            await client.close()
        return exchange.record(begun_ns)

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("endpoint", "wire"),
    [
        ("chat", CHAT),
        ("chat", CHAT.replace(b"\n", b"\r\n")),
        ("responses", DELTA + OPENAI),
        ("responses", DELTA + VLLM),
    ],
)
def test_the_answer_is_good_and_counted_as_left_open(serve: Serve, endpoint: str, wire: bytes) -> None:
    server = serve(lambda _: [HEAD, chunk(wire), STALL])
    begun_s = time.monotonic()
    found = record(server.port, endpoint)
    assert time.monotonic() - begun_s < 5
    assert (found.outcome, found.output_tokens, found.answer) == (Outcome.OK, 1, "a")
    assert found.body_left_open
    assert found.done_ns == found.chunk_ns[-1], "done is the end of the stream"
