"""A worker: sends its share of a load and says how it goes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import structs

from harness.client import Client
from harness.drivers import LoadFacts
from harness.errors import HarnessError
from harness.local_load import LocalLoad
from harness.server_counter import schedule_of
from harness.tally import Tally
from harness.workers.channel import Channel
from harness.workers.limits import ShareBrake
from harness.workers.messages import (
    AskTime,
    Beat,
    Count,
    Counted,
    Cut,
    Done,
    Drain,
    Failed,
    Order,
    Ready,
    Start,
    Time,
)
from harness.workers.shares import share_of
from harness.workers.shipping import Shipping
from scenarios.errors import ScenarioError
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    import socket

    from harness.embedding import Embedding
    from harness.workers.channel import Connection
    from scenarios.schedule import Schedule

ORPHAN_S: Final = 5.0
"""A worker whose run is gone ends within this time, whatever it waits for."""


async def work(connected: socket.socket) -> None:
    """Do what comes over the socket, until it is done or nobody listens any more."""
    await work_for(await Channel.open(connected))


async def work_for(
    channel: Connection, embedding: Embedding | None = None, folder: Path | None = None
) -> None:
    """Do what comes over the connection, until it is done or nobody listens any more.

    Args:
        channel: To the run's process, and closed at the end.
        embedding: The tool in which the worker works; None where it is a process of the run's.
        folder: Where its journal goes, whose lines are sent to the run's process then; None where that one
            sees this disk.
    """
    try:
        order = await channel.receive()
        if isinstance(order, Order):
            ship = None
            if folder is not None:
                order = structs.replace(order, journal=str(folder / Path(order.journal).name))
                ship = Shipping(Path(order.journal), channel)
            worker = await _Worker.made_for(order, channel, embedding)
            await worker.run(ship)
    except (HarnessError, ScenarioError) as error:
        await channel.send(Failed(message=str(error)))
    except Exception as error:  # noqa: BLE001 (told to the run's process, which is the one that can end the run)
        traceback.print_exc()
        await channel.send(Failed(message=f"{type(error).__name__}: {error}"))
    finally:
        await channel.close()


class _Worker:
    @classmethod
    async def made_for(cls, order: Order, channel: Connection, embedding: Embedding | None) -> _Worker:
        scenario, target = scenario_from(order.manifest.scenario), order.address.target()
        client = Client(
            target, scenario.endpoint, order.manifest.model, scenario.timeouts, scenario.local_counter()
        )
        whole = await schedule_of(scenario, target, order.manifest.model)
        return cls(order, channel, client, share_of(whole, order.worker, order.num_workers), embedding)

    def __init__(
        self,
        order: Order,
        channel: Connection,
        client: Client,
        schedule: Schedule,
        embedding: Embedding | None,
    ) -> None:
        self._order = order
        self._channel = channel
        self._stop = asyncio.Event()
        self._client = client
        self._tally = Tally(order.manifest)
        journal = Path(order.journal)
        facts = LoadFacts()
        self._brake = ShareBrake(schedule.stop, facts)
        self._load = LocalLoad(
            schedule,
            self._client,
            self._tally,
            journal,
            self._stop,
            facts=facts,
            brake=self._brake,
            embedding=embedding,
        )

    async def run(self, ship: Shipping | None) -> None:
        """Wait for the start, send, and tell how it went."""
        gc.collect()
        gc.freeze()  # so that the collection at the start, which does the same, takes no time
        await self._channel.send(Ready())
        while isinstance(message := await self._channel.receive(), AskTime):
            await self._channel.send(Time(now_ns=time.monotonic_ns()))
        if not isinstance(message, Start):
            return
        async with contextlib.AsyncExitStack() as at_end:
            at_end.push_async_callback(self._client.close)
            for task in (self._listen(), self._beat(), *([] if ship is None else [ship.follow()])):
                at_end.push_async_callback(_cancel, asyncio.ensure_future(task))
            fault = await self._send(message.at_ns)
        if ship is not None:
            await ship.finish()
        done = Done(status=self._load.status(), part=self._tally.part(), fault=fault)
        await self._channel.send(done)

    async def _send(self, start_ns: int) -> str | None:
        try:
            await self._load.run(start_ns)
        except HarnessError as error:
            return str(error)
        return None

    async def _listen(self) -> None:
        """Do what the run's process says, and end when it is gone."""
        while (message := await self._channel.receive()) is not None:
            if isinstance(message, Drain):
                self._brake.pull(message.reason)
            elif isinstance(message, Count):
                await self._channel.send(Counted(part=self._tally.part()))
            elif isinstance(message, Cut):
                self._stop.set()
        self._stop.set()
        asyncio.get_running_loop().call_later(ORPHAN_S, os._exit, 1)

    async def _beat(self) -> None:
        while True:
            await self._channel.send(Beat(status=self._load.status(), bins=self._brake.take()))
            await asyncio.sleep(self._order.beat_s)


async def _cancel(task: asyncio.Future[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
