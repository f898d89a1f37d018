"""Workers that can't begin, or can't go on, say why."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from harness.tally import Tally
from harness.workers import member, process, worker
from harness.workers.channel import Channel
from harness.workers.crew import Crew
from harness.workers.crew_size import WorkersError
from harness.workers.messages import Failed, Message, Order, Ready, Start
from harness.workers.process import WorkerProcess
from scenarios.scenario import scenario_from
from tests.unit.workers.test_messages import ADDRESS, MANIFEST

if TYPE_CHECKING:
    from pathlib import Path


def order(tmp_path: Path, **keys: Any) -> Order:
    scenario = {**MANIFEST.scenario, **keys}
    return Order(
        manifest=msgspec.structs.replace(MANIFEST, scenario=scenario),
        address=ADDRESS,
        worker=1,
        num_workers=4,
        journal=str(tmp_path / "journal-2.jsonl"),
        beat_s=0.1,
    )


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def answers(*messages: Message) -> list[Message]:
    """What a worker in this process says to these, until it hangs up."""
    ours, theirs = socket.socketpair()
    working = asyncio.ensure_future(worker.work(theirs))
    channel = await Channel.open(ours)
    for message in messages:
        await channel.send(message)
    said = []
    while (answer := await channel.receive()) is not None:
        said.append(answer)
        if isinstance(answer, Ready):
            await channel.close()
            break
    await working
    await channel.close()
    return said


async def test_a_scenario_that_cannot_be_read(tmp_path: Path) -> None:
    prompts = {"source": "jsonl", "file": str(tmp_path / "gone.jsonl")}
    (said,) = await answers(order(tmp_path, prompts=prompts))
    assert isinstance(said, Failed)
    assert "gone.jsonl" in said.message


async def test_an_unforeseen_fault_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unforeseen(*_: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(worker, "share_of", unforeseen)
    assert await answers(order(tmp_path)) == [Failed(message="RuntimeError: unforeseen")]
    assert "Traceback" in capsys.readouterr().err


async def test_nothing_is_sent_where_the_run_is_gone_before_the_start(tmp_path: Path) -> None:
    assert await answers(order(tmp_path)) == [Ready()]
    assert names(tmp_path) == []


async def test_who_gives_no_order_gets_no_answer() -> None:
    assert await answers(Start(at_ns=1)) == []


async def test_a_program_that_cannot_be_started_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    one = WorkerProcess(order(tmp_path))
    with pytest.raises(WorkersError, match=r"worker 2 of 4 was lost \(exit code 1\); nothing was sent"):
        await one.start()
    await one.end()


async def test_a_silent_worker_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member, "START_S", 0.2)
    monkeypatch.setattr(process, "_END_S", 0.2)
    script = tmp_path / "sleeps"
    script.write_text("#!/bin/sh\nexec sleep 30\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    one = WorkerProcess(order(tmp_path))
    with pytest.raises(WorkersError, match=r"worker 2 of 4 said nothing for 0\.2 s"):
        await one.start()
    await one.end()
    assert one.is_over


def test_a_load_that_never_began_has_as_many_workers_as_it_was_given(tmp_path: Path) -> None:
    schedule = scenario_from(MANIFEST.scenario).schedule()
    path, stop = tmp_path / "journal.jsonl", asyncio.Event()
    crew = Crew(schedule, 3, MANIFEST, ADDRESS, Tally(MANIFEST), path, stop)
    assert [each.num_requests for each in crew.status().health.workers] == [0, 0, 0]
