"""Decoding off the hot path: complete, in small steps, in bounded memory."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING

from harness.record import Outcome
from harness.timeline import SLICE_BYTES, End, Timeline
from harness.transport import HttpRequest, Transport

if TYPE_CHECKING:
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
