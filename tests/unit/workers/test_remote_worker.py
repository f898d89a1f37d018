"""A worker on another machine: another clock, another disk, silence."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING

import pytest
from support.result_folders import manifest

from harness.address import Address
from harness.workers.channel import Channel
from harness.workers.crew_size import WorkersError
from harness.workers.messages import AskTime, Order, Piece, Ready, Start, Time
from harness.workers.remote import NUM_ASKED, RemoteWorker
from harness.workers.shipping import PIECE_BYTES, Shipping

if TYPE_CHECKING:
    from pathlib import Path

    from harness.workers.messages import Message

S = 10**9
ADDRESS = Address(base_url="127.0.0.1:1", api_key=None, headers={}, verify=True, proxy=None)


async def hired(journal: Path) -> tuple[RemoteWorker, Channel]:
    """A worker, and the end of its connection that a test plays."""
    near, far = [await Channel.open(end) for end in socket.socketpair()]
    order = Order(
        manifest=manifest(), address=ADDRESS, worker=1, num_workers=2, journal=str(journal), beat_s=0.5
    )
    return RemoteWorker(order, near, "elsewhere_1"), far


async def get_ready(far: Channel, ahead_ns: int) -> list[Message | None]:
    """Begin as a worker does whose clock is so much ahead; what it was told."""
    told = [await far.receive()]
    await far.send(Ready())
    for each in range(NUM_ASKED):
        told.append(await far.receive())
        await asyncio.sleep(0.02 if each else 0)
        await far.send(Time(now_ns=time.monotonic_ns() + ahead_ns))
    return told


@pytest.mark.parametrize("ahead_ns", [200 * S, -200 * S])
async def test_B3_03_a_clock_that_is_ahead_begins_at_the_same_instant(tmp_path: Path, ahead_ns: int) -> None:
    """To within half of the soonest answer's time, whatever the other answers took."""
    worker, far = await hired(tmp_path / "journal-2.jsonl")
    told, _ = await asyncio.gather(get_ready(far, ahead_ns), worker.start())
    assert told == [worker.order, *[AskTime()] * NUM_ASKED]
    assert abs(worker.ahead_ns - ahead_ns) < 10_000_000
    await worker.tell(Start(at_ns=5_000))
    assert await far.receive() == Start(at_ns=5_000 + worker.ahead_ns)
    await worker.end()
    await far.close()


async def test_its_journal_arrives_in_pieces_of_whole_lines(tmp_path: Path) -> None:
    """Those that grow while they are sent too; a line that isn't whole yet waits."""
    there, here = tmp_path / "there.jsonl", tmp_path / "here.jsonl"
    worker, far = await hired(here)
    worker._connection = worker._to_it
    ship = Shipping(there, far)
    await ship.finish()
    lines = b"".join(b"%07d\n" % number for number in range(3 * PIECE_BYTES // 8))
    there.write_bytes(lines + b"x" * PIECE_BYTES)
    await asyncio.gather(ship.finish(), hear_pieces(worker, 3))
    assert here.read_bytes() == lines
    there.write_bytes(lines + b"x" * PIECE_BYTES + b"\n")
    await asyncio.gather(ship.finish(), hear_pieces(worker, 1))
    assert here.read_bytes() == there.read_bytes()
    await worker.end()
    await far.close()


async def hear_pieces(worker: RemoteWorker, num_pieces: int) -> None:
    for _ in range(num_pieces):
        message = await worker.hear(10)
        assert isinstance(message, Piece)
        assert message.lines.endswith(b"\n")


async def test_one_whose_journal_cannot_be_written_is_given_up(tmp_path: Path) -> None:
    worker, far = await hired(tmp_path / "no folder" / "journal-2.jsonl")
    worker._connection = worker._to_it
    await far.send(Piece(lines=b"{}\n"))
    assert await worker.hear(10) is None
    assert worker.lost is not None
    assert "worker 2 of 2 (elsewhere_1) was given up" in worker.lost
    await worker.end()
    await far.close()


async def test_one_that_leaves_before_the_start_is_named(tmp_path: Path) -> None:
    worker, far = await hired(tmp_path / "journal-2.jsonl")
    starting = asyncio.ensure_future(worker.start())
    await far.receive()
    await far.send(Ready())
    await far.close()
    with pytest.raises(WorkersError, match=r"worker 2 of 2 \(elsewhere_1\) was lost .*nothing was sent"):
        await starting
    await worker.end()


async def test_one_that_does_not_end_is_waited_for_no_longer(tmp_path: Path) -> None:
    worker, far = await hired(tmp_path / "journal-2.jsonl")
    worker._connection = worker._to_it
    hearing = asyncio.ensure_future(worker.hear())
    await asyncio.sleep(0)
    worker.kill()
    await far.close()
    assert await hearing is None
    assert worker.lost == "worker 2 of 2 (elsewhere_1) did not end when it was told to"
