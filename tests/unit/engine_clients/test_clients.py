"""What every engine client must do, and what only a process can suffer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import psutil
import pytest

from reference_server.engine.client import EngineClient, EngineDeadError
from reference_server.engine.process_client import ProcessClient
from reference_server.engine.request import EngineOutput, EngineRequest

if TYPE_CHECKING:
    from types import ModuleType

MakeRequest = Callable[..., EngineRequest]
MakeProcessClient = Callable[..., ProcessClient]


async def outputs_of(client: EngineClient, request: EngineRequest) -> list[EngineOutput]:
    return [output async for output in client.generate(request)]


async def until(condition: Callable[[], bool], timeout_s: float = 10) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 (what is waited for has no event)
            await asyncio.sleep(0.01)


async def test_tokens_arrive_in_order_and_the_last_output_finishes(
    client: EngineClient, engine_request: MakeRequest
) -> None:
    outputs = await outputs_of(client, engine_request(max_tokens=5))
    assert [token for output in outputs for token in output.token_ids] == [5, 6, 7, 5, 6]
    assert [output.finish_reason for output in outputs[:-1]] == [None] * (len(outputs) - 1)
    assert outputs[-1].finish_reason == "length"
    assert client.stats.num_running == 0


async def test_sequences_run_side_by_side(client: EngineClient, engine_request: MakeRequest) -> None:
    """Eight sequences of 20 tokens take about 20 steps, not 160."""
    requests = [engine_request(f"r{i}", [i + 1], max_tokens=20) for i in range(8)]
    results = await asyncio.gather(*(outputs_of(client, request) for request in requests))
    for i, outputs in enumerate(results):
        assert [token for output in outputs for token in output.token_ids] == [i + 1] * 20
    assert client.stats.num_steps < 80


async def test_a_slow_reader_gets_the_tokens_merged(
    client: EngineClient, engine_request: MakeRequest
) -> None:
    outputs = client.generate(engine_request(max_tokens=30, logprobs=0))
    first = await anext(outputs)
    await until(lambda: client.stats.num_running == 0)
    rest = [output async for output in outputs]
    assert len(rest) == 1
    assert len(first.token_ids) + len(rest[0].token_ids) == 30
    assert [entry.token_id for entry in rest[0].logprobs or []] == rest[0].token_ids


async def test_closing_the_iterator_aborts(client: EngineClient, engine_request: MakeRequest) -> None:
    outputs = client.generate(engine_request(max_tokens=100_000))
    async with contextlib.aclosing(outputs):  # type: ignore[type-var]  # an async generator behind the ABC
        await anext(outputs)
    await until(lambda: client.stats.num_running == 0)
    assert client.stats.num_free_blocks == client.stats.num_blocks


async def test_cancelling_the_reader_aborts(client: EngineClient, engine_request: MakeRequest) -> None:
    task = asyncio.create_task(outputs_of(client, engine_request(max_tokens=100_000)))
    await until(lambda: client.stats.num_running == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: client.stats.num_running == 0)


async def test_an_abort_by_id_ends_the_stream(client: EngineClient, engine_request: MakeRequest) -> None:
    outputs = client.generate(engine_request(max_tokens=100_000))
    await anext(outputs)
    await client.abort("r")
    last = [output async for output in outputs][-1]
    assert last.finish_reason == "abort"
    await client.abort("never heard of")


async def test_closing_ends_live_streams_as_aborted(
    client: EngineClient, engine_request: MakeRequest
) -> None:
    task = asyncio.create_task(outputs_of(client, engine_request(max_tokens=100_000)))
    await until(lambda: client.stats.num_running == 1)
    await client.close()
    assert (await task)[-1].finish_reason == "abort"
    with pytest.raises(EngineDeadError, match="closed"):
        await outputs_of(client, engine_request())


async def test_a_live_id_is_not_taken_twice(client: EngineClient, engine_request: MakeRequest) -> None:
    outputs = client.generate(engine_request(max_tokens=100_000))
    await anext(outputs)
    with pytest.raises(ValueError, match="live already"):
        await outputs_of(client, engine_request())
    await client.abort("r")
    assert [output.finish_reason async for output in outputs][-1] == "abort"


async def test_a_refused_sequence_leaves_the_engine_alive(
    client: EngineClient, engine_request: MakeRequest, echo: ModuleType
) -> None:
    (output,) = await outputs_of(client, engine_request(prompt=[echo.REFUSED]))
    assert (output.finish_reason, output.error) == ("error", "this prompt is refused")
    assert len(await outputs_of(client, engine_request())) > 0


async def test_ping_comes_back_idle_and_under_load(client: EngineClient, engine_request: MakeRequest) -> None:
    await client.ping(10)
    task = asyncio.create_task(outputs_of(client, engine_request(max_tokens=100_000)))
    await until(lambda: client.stats.num_running == 1)
    await client.ping(10)
    task.cancel()


async def test_C7_05_a_faulty_step_ends_every_wait(
    client: EngineClient, engine_request: MakeRequest, echo: ModuleType
) -> None:
    bystander = asyncio.create_task(outputs_of(client, engine_request("other", max_tokens=100_000)))
    await until(lambda: client.stats.num_running == 1)
    with pytest.raises(EngineDeadError, match="RuntimeError: a step went wrong"):
        await outputs_of(client, engine_request(prompt=[echo.FAULTY_STEP]))
    with pytest.raises(EngineDeadError):
        await bystander
    with pytest.raises(EngineDeadError):
        await client.ping(10)
    with pytest.raises(EngineDeadError):
        await outputs_of(client, engine_request())


async def test_C7_05_a_hanging_step_is_noticed(
    process_client: MakeProcessClient,
    engine_request: MakeRequest,
    echo: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("reference_server.engine.process_client.CLOSE_TIMEOUT_S", 0.2)
    client = process_client()
    await client.start()
    task = asyncio.create_task(outputs_of(client, engine_request(prompt=[echo.HANGING_STEP])))
    await asyncio.sleep(0.3)  # a ping in the same batch of commands is answered before the step
    with pytest.raises(TimeoutError, match="a step hangs"):
        await client.ping(0.3)
    await client.close()
    assert [output.finish_reason for output in await task] == ["abort"]


async def test_the_death_of_the_process_is_noticed(
    process_client: MakeProcessClient, engine_request: MakeRequest, echo: ModuleType
) -> None:
    client = process_client()
    await client.start()
    with pytest.raises(EngineDeadError, match="exit code 7"):
        await outputs_of(client, engine_request(prompt=[echo.SUDDEN_DEATH]))


async def test_a_killed_process_is_named_by_its_signal(
    process_client: MakeProcessClient, engine_request: MakeRequest
) -> None:
    client = process_client()
    await client.start()
    task = asyncio.create_task(outputs_of(client, engine_request(max_tokens=100_000)))
    await until(lambda: client.stats.num_running == 1)
    assert client.pid
    os.kill(client.pid, signal.SIGKILL)
    with pytest.raises(EngineDeadError, match="SIGKILL"):
        await task


async def test_a_model_that_cannot_load_says_why(process_client: MakeProcessClient) -> None:
    with pytest.raises(EngineDeadError, match="no such model: missing; fetch it first"):
        await process_client("missing").start()


async def test_loading_can_be_broken_off(process_client: MakeProcessClient) -> None:
    client = process_client("slow-to-load")
    starting = asyncio.create_task(client.start())
    await until(lambda: client.pid is not None)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    async with asyncio.timeout(5):
        await client.close()


async def test_an_idle_engine_costs_no_cpu(process_client: MakeProcessClient) -> None:
    client = process_client()
    await client.start()
    child = psutil.Process(client.pid)
    before = sum(child.cpu_times()[:2])
    await asyncio.sleep(1)
    assert sum(child.cpu_times()[:2]) - before < 0.1


ORPHAN_MAKER = """
import asyncio
from reference_server.engine.config import EngineConfig
from reference_server.engine.process_client import ProcessClient

async def main():
    client = ProcessClient(EngineConfig(model="echo"), factory="echo_engine:load_echo")
    await client.start()
    print(client.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.usefixtures("echo")
def test_no_orphan_is_left_when_the_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", ORPHAN_MAKER], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        deadline = time.monotonic() + 10
        while child.is_running() and child.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
