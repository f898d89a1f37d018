"""A client that leaves frees what it used, whatever its request was doing."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENDLESS: dict[str, Any] = {"prompt": "a", "max_tokens": 4000, "ignore_eos": True}


@pytest.fixture
def slow() -> dict[str, Any]:
    """Options of an engine whose 4000 tokens take over 20 s."""
    return {"engine": {"step_s": 0.005}}


async def send(api: Any, fields: dict[str, Any]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A request on a connection of its own."""
    host, port = api.base_url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = json.dumps(fields).encode()
    writer.write(b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
    return reader, writer


async def until_running(api: Any, num_sequences: int) -> None:
    """Wait until engine and API agree on so many sequences; the bound is the promise: a second."""

    def agree() -> bool:
        counts = {api.context.client.stats.num_running, api.context.admission.num_sequences}
        return counts == {num_sequences}

    async with asyncio.timeout(5 if num_sequences else 1):
        while not agree():  # noqa: ASYNC110 (the engine has no event)
            await asyncio.sleep(0.005)


async def test_C2_01_a_request_without_stream_is_aborted(start_api: Any, slow: dict[str, Any]) -> None:
    api = await start_api(**slow)
    connections = [await send(api, ENDLESS) for _ in range(50)]
    await until_running(api, 50)
    for _, writer in connections:
        writer.close()
    await until_running(api, 0)
    stats = api.context.client.stats
    assert stats.num_free_blocks == stats.num_blocks
    assert api.context.client._streams == {}
    assert 'finished_reason="abort",model_name="echo"} 50.0' in (await api.http.get("/metrics")).text


async def test_C2_03_a_stream_is_aborted(start_api: Any, slow: dict[str, Any]) -> None:
    api = await start_api(**slow)
    reader, writer = await send(api, {**ENDLESS, "stream": True})
    for _ in range(3):
        await reader.readuntil(b"\n\n")
    writer.close()
    await until_running(api, 0)


async def test_all_choices_of_a_request_are_aborted(start_api: Any, slow: dict[str, Any]) -> None:
    api = await start_api(**slow)
    _, writer = await send(api, {**ENDLESS, "n": 8, "stream": True})
    await until_running(api, 8)
    writer.close()
    await until_running(api, 0)


async def test_C2_03_a_client_that_leaves_before_the_first_token(start_api: Any) -> None:
    api = await start_api(engine={"step_s": 0.3})
    _, writer = await send(api, {**ENDLESS, "stream": True})
    async with asyncio.timeout(5):
        while not api.context.admission.num_sequences:  # noqa: ASYNC110 (admission has no event)
            await asyncio.sleep(0.005)
    writer.close()
    await until_running(api, 0)


async def test_a_client_that_reads_nothing_does_not_hold_up_others(start_api: Any) -> None:
    api = await start_api(engine={"max_model_len": 200_000})
    _, writer = await send(api, {**ENDLESS, "max_tokens": 150_000, "stream": True})
    async with asyncio.timeout(10):
        await api.complete("hello")
    writer.close()
    await until_running(api, 0)


async def test_a_client_may_leave_in_the_middle_of_its_body(start_api: Any) -> None:
    api = await start_api()
    host, port = api.base_url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(b'POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"prompt"')
    await writer.drain()
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    await api.complete("still here")
    assert api.context.admission.num_requests == 0
