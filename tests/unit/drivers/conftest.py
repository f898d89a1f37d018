"""A client without a network: every answer takes as long as the test says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.client import Client
from harness.drivers import LoadFacts, generate
from harness.record import Record
from harness.target import Target
from harness.timeline import End, Timeline
from harness.transport import HttpRequest, Transport
from scenarios.request import Arrival, Prompt
from scenarios.schedule import Schedule
from scenarios.timeouts import Timeouts

MS = 1_000_000
ANSWER = b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

Generated = tuple[list[Record], LoadFacts]
Send = Callable[..., Generated]


class PacedTransport(Transport):
    """Answers after ``service_s`` seconds.

    Attributes:
        num_now: Exchanges going on.
        num_most: The most there were at a time.
    """

    def __init__(self, service_s: float) -> None:
        self.service_s = service_s
        self.num_now = self.num_most = 0

    async def exchange(self, request: HttpRequest, timeline: Timeline) -> None:
        """See ``Transport``."""
        del request
        self.num_now += 1
        self.num_most = max(self.num_most, self.num_now)
        timeline.sent_ns = time.monotonic_ns()
        try:
            await asyncio.sleep(self.service_s)
            now_ns = time.monotonic_ns()
            timeline.status, timeline.headers = 200, {"content-type": "text/event-stream"}
            timeline.read_ns.append(now_ns)
            timeline.reads.append(ANSWER)
            timeline.close(End.COMPLETE, now_ns)
        except asyncio.CancelledError:
            timeline.close(End.CUT, time.monotonic_ns())
            raise
        finally:
            self.num_now -= 1

    async def close(self) -> None:
        """See ``Transport``."""


def arrivals(num: int, gap_ms: float | None) -> Iterator[Arrival]:
    for index in range(num):
        due_ns = None if gap_ms is None else round(index * gap_ms * MS)
        yield Arrival(index=index, due_ns=due_ns, prompt=Prompt(text="hello"), sampling={})


@pytest.fixture
def send() -> Send:
    """Generate a load on a new loop: (records, facts)."""

    def run(
        num: int = 0,
        gap_ms: float | None = None,
        *,
        service_s: float = 0.01,
        transport: Transport | None = None,
        items: Iterator[Arrival] | None = None,
        on_record: Callable[[Record], None] = lambda _: None,
        meanwhile: Callable[[asyncio.Event, LoadFacts], Any] | None = None,
        **limits: Any,
    ) -> Generated:
        async def main() -> Generated:
            client = Client(Target.parse("127.0.0.1:1"), "chat", "m", Timeouts())
            client.transport = transport or PacedTransport(service_s)
            records: list[Record] = []

            def keep(record: Record) -> None:
                records.append(record)
                on_record(record)

            stop, facts = asyncio.Event(), LoadFacts()
            schedule = Schedule(arrivals=items or arrivals(num, gap_ms), **limits)
            beside = asyncio.ensure_future(meanwhile(stop, facts)) if meanwhile else None
            try:
                await generate(schedule, client, keep, stop, facts=facts)
            finally:
                if beside is not None:
                    beside.cancel()
                    await asyncio.gather(beside, return_exceptions=True)
                assert len(asyncio.all_tasks()) == 1, "a task was left behind"
            return records, facts

        return asyncio.run(main())

    return run
