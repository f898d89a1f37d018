"""Decoding off the hot path: complete, in small steps, in bounded memory."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING

from harness.client import Client
from harness.digest import Digest
from harness.record import Outcome
from harness.target import Target
from harness.timeline import SLICE_BYTES, End, Timeline
from harness.transport import HttpRequest, Transport
from scenarios.request import Arrival, Prompt
from scenarios.timeouts import Timeouts

if TYPE_CHECKING:
    from harness.record import Record
    from tests.unit.drivers.conftest import Send

EVENT = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
END = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


class FloodTransport(Transport):
    """Answers at once, with many tokens, in pieces of 4 KiB.

    Attributes:
        most_held: The most bytes that a timeline held undecoded.
    """

    def __init__(self, num_events: int) -> None:
        self.wire = EVENT * num_events + END
        self.most_held = 0

    async def exchange(self, request: HttpRequest, timeline: Timeline) -> None:
        """See ``Transport``."""
        del request
        timeline.sent_ns = timeline.headers_ns = time.monotonic_ns()
        timeline.status, timeline.headers = 200, {"content-type": "text/event-stream"}
        gathered = 0
        for at in range(0, len(self.wire), 4_096):
            piece = self.wire[at : at + 4_096]
            timeline.read_ns.append(time.monotonic_ns())
            timeline.reads.append(piece)
            gathered += len(piece)
            if gathered >= SLICE_BYTES:
                gathered = 0
                timeline.on_slice()
            self.most_held = max(self.most_held, sum(map(len, timeline.reads)))
            await asyncio.sleep(0)
        timeline.close(End.COMPLETE, time.monotonic_ns())

    async def close(self) -> None:
        """See ``Transport``."""


def test_every_token_of_every_answer(send: Send) -> None:
    records, _ = send(20, 1, transport=FloodTransport(500), loop="open")
    assert len(records) == 20
    assert {(len(record.chunk_ns), record.outcome) for record in records} == {(500, Outcome.OK)}
    for record in records:
        assert record.chunk_ns == sorted(record.chunk_ns)
        assert (record.sent_ns or 0) <= record.chunk_ns[0]
        assert record.coalesced_chunks > 0


def test_A7_06_an_endless_answer_doesnt_fill_the_memory(send: Send) -> None:
    """Undecoded bytes stay few: 20 MB pass through."""
    transport = FloodTransport(400_000)
    records, _ = send(1, 1, transport=transport, loop="open")
    assert len(records[0].chunk_ns) == 400_000
    assert transport.most_held < 8 * SLICE_BYTES


def test_the_loop_is_served_while_answers_are_decoded(send: Send) -> None:
    turns_ns: list[int] = []

    async def watch(*_: object) -> None:
        while True:
            turns_ns.append(time.monotonic_ns())
            await asyncio.sleep(0)

    transport = FloodTransport(20_000)
    send(1, 1, transport=transport, loop="open", meanwhile=watch)
    waits_ns = sorted(b - a for a, b in itertools.pairwise(turns_ns))
    assert len(waits_ns) > 200
    assert waits_ns[len(waits_ns) * 9 // 10] < 20_000_000


def test_what_is_overdue_goes_first() -> None:
    """While something else is urgent nothing is made of what has ended; afterwards all of it is."""
    records: list[Record] = []
    urgent = [True]

    async def main() -> None:
        client = Client(Target.parse("127.0.0.1:1"), "chat", "m", Timeouts())
        digest = Digest(client, records.append, origin_ns=0)
        digest.gives_way = lambda: urgent[0]
        arrival = Arrival(index=0, due_ns=None, prompt=Prompt(text="hello"), sampling={})
        exchange = digest.open(client.prepare(arrival), 0)
        exchange.close(End.COMPLETE, time.monotonic_ns())
        digest.finish(exchange)
        for _ in range(100):
            await asyncio.sleep(0)
        assert not records
        urgent[0] = False
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(records) == 1
        await digest.close()
        await client.close()

    asyncio.run(main())
