"""Requests that others ask for while the run goes on."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from harness.client import Client
from harness.drivers import generate
from harness.drivers.requested import NotTakenError, Requests
from harness.record import CANCELLED, Record
from harness.target import Target
from scenarios.request import Prompt
from scenarios.schedule import Schedule
from scenarios.timeouts import Timeouts
from tests.unit.drivers.conftest import PacedTransport

if TYPE_CHECKING:
    from collections.abc import Callable

LIKE = Schedule(arrivals=iter(()), loop="open", planned_rate=1, duration_ns=10**9, grace_ns=100_000_000)
Told = dict[int, tuple[Record | None, str]]


def served(
    requests: Requests, ask: Callable[[Told], None], service_s: float = 0.01
) -> tuple[list[Record], Told]:
    """Serve what ``ask`` asks for, which runs in a thread of its own."""
    records: list[Record] = []
    told: Told = {}

    async def main() -> None:
        thread = threading.Thread(target=ask, args=(told,))
        thread.start()
        schedule = requests.schedule_like(LIKE)
        client = Client(Target.parse("127.0.0.1:1"), "chat", "m", Timeouts())
        client.transport = PacedTransport(service_s)
        await generate(schedule, client, records.append, asyncio.Event(), drive=requests.drive)
        thread.join()

    asyncio.run(main())
    return records, told


def asked(requests: Requests, told: Told, text: str = "hello") -> tuple[int, threading.Event]:
    """Ask, and how to wait for the answer."""
    done = threading.Event()

    def tell(record: Record | None, said: str) -> None:
        told[number] = (record, said)
        done.set()

    number = requests.ask(Prompt(text=text), {}, tell)
    return number, done


def test_each_is_told_its_record_and_what_was_said() -> None:
    requests = Requests()

    def ask(told: Told) -> None:
        for _ in range(3):
            _, done = asked(requests, told)
            assert done.wait(10)
        requests.close()

    records, told = served(requests, ask)
    assert [record.index for record in records] == [0, 1, 2]
    assert {
        number: (record is records[number], said) for number, (record, said) in told.items()
    } == dict.fromkeys(range(3), (True, "a"))
    assert all(record.due_ns <= (record.sent_ns or 0) for record in records)


@pytest.mark.parametrize(("by_end", "detail"), [(False, CANCELLED), (True, "")])
def test_what_is_given_up_is_cut(by_end: bool, detail: str) -> None:
    """By whoever asked it is cancelled; by the end of the run it is not."""
    requests = Requests()

    def ask(told: Told) -> None:
        _, first = asked(requests, told)
        number, second = asked(requests, told)
        assert not first.wait(0.05)
        requests.give_up(number, by_end=by_end)
        assert second.wait(10)
        assert first.wait(10)
        requests.close()

    records, _ = served(requests, ask, service_s=0.3)
    assert {record.index: (record.outcome, record.detail) for record in records} == {
        0: ("ok", ""),
        1: ("cut", detail),
    }


def test_after_the_end_nothing_is_taken() -> None:
    requests = Requests()
    requests.close()
    with pytest.raises(NotTakenError):
        requests.ask(Prompt(text="late"), {}, lambda _record, _said: None)
