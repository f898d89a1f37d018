"""Probes and small facts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("path", ["/health", "/ping"])
async def test_a_live_engine_is_healthy(start_api: Any, path: str) -> None:
    api = await start_api()
    response = await api.http.get(path)
    assert (response.status_code, response.content) == (200, b"")


async def test_C7_05_a_dead_engine_is_told_everywhere(start_api: Any, echo: Any) -> None:
    api = await start_api(engine={"step_s": 0.01})
    waiting = asyncio.create_task(api.post("/v1/completions", prompt="a", max_tokens=4000, ignore_eos=True))
    stream = asyncio.create_task(
        api.post("/v1/completions", prompt="a", max_tokens=4000, ignore_eos=True, stream=True)
    )
    await asyncio.sleep(0.1)
    culprit = await api.post("/v1/completions", prompt=[echo.FAULTY_STEP])
    assert culprit.status_code == 500
    assert (await waiting).status_code == 500
    assert '"code":500' in (await stream).text
    assert (await stream).text.endswith("data: [DONE]\n\n")
    health = await api.http.get("/health")
    assert health.status_code == 503
    assert "a step went wrong" in health.json()["error"]["message"]
    assert (await api.post("/v1/completions", prompt="a")).status_code == 503
    assert (await api.http.get("/metrics")).status_code == 200


async def test_C7_05_a_hanging_engine_is_unhealthy(start_api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reference_server.api.health.PING_TIMEOUT_S", 0.2)
    monkeypatch.setattr("reference_server.engine.loop_client.RECENT_STEP_S", 0.1)
    api = await start_api(engine={"step_s": 1.5})
    request = asyncio.create_task(api.post("/v1/completions", prompt="a", max_tokens=1))
    await asyncio.sleep(0.2)
    response = await api.http.get("/health")
    assert response.status_code == 503
    assert "hangs" in response.json()["error"]["message"]
    await request
    assert (await api.http.get("/health")).status_code == 200


async def test_C7_06_a_draining_server_is_unhealthy_and_takes_no_work(start_api: Any) -> None:
    api = await start_api(engine={"step_s": 0.02})
    inside = asyncio.create_task(api.post("/v1/completions", prompt="a", max_tokens=30, ignore_eos=True))
    async with asyncio.timeout(20):
        while not api.context.admission.num_requests:  # noqa: ASYNC110 (it has no event for this)
            await asyncio.sleep(0.005)
    draining = asyncio.create_task(api.context.admission.drain(10))
    await asyncio.sleep(0)
    assert (await api.http.get("/health")).status_code == 503
    refused = await api.post("/v1/completions", prompt="a")
    assert refused.status_code == 503
    assert refused.headers["retry-after"]
    assert (await inside).json()["choices"][0]["finish_reason"] == "length"
    assert await draining


async def test_load_counts_requests_in_flight(start_api: Any) -> None:
    api = await start_api(engine={"step_s": 0.01})
    assert (await api.http.get("/load")).json() == {"server_load": 0}
    request = asyncio.create_task(
        api.post("/v1/completions", prompt="a", max_tokens=50, ignore_eos=True, n=2)
    )
    await asyncio.sleep(0.1)
    assert (await api.http.get("/load")).json() == {"server_load": 1}
    await request


async def test_models_are_listed_by_each_name(start_api: Any) -> None:
    api = await start_api()
    listing = (await api.http.get("/v1/models")).json()
    assert listing["object"] == "list"
    assert [card["id"] for card in listing["data"]] == ["echo", "alias"]
    card = listing["data"][0]
    assert (card["object"], card["owned_by"], card["max_model_len"]) == ("model", "vllm", 4096)
    assert card["permission"][0]["object"] == "model_permission"
    assert (await api.http.get("/v1/models/alias")).json()["id"] == "alias"
    answer = await api.complete("a", model="alias")
    assert answer["model"] == "alias"


async def test_version_is_told(start_api: Any) -> None:
    api = await start_api()
    assert (await api.http.get("/version")).json() == {"version": "0.0.0"}
