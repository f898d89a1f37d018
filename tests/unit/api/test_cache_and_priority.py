"""The fields and endpoints of scheduling: ``priority``, ``cache_salt``, ``/reset_prefix_cache``."""

from __future__ import annotations

from typing import Any

import pytest

from reference_server.config import ServerConfig

pytestmark = pytest.mark.asyncio(loop_scope="module")

COMPLETIONS = "/v1/completions"


async def test_a_priority_is_refused_where_it_would_have_no_effect(api: Any) -> None:
    response = await api.post(COMPLETIONS, prompt="x", priority=-1)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["param"] == "priority"
    assert "--scheduling-policy priority" in error["message"]


async def test_a_priority_is_taken_under_its_policy(start_api: Any) -> None:
    api = await start_api(engine={"scheduling_policy": "priority"})
    assert await api.complete("x", priority=-5)
    response = await api.post(COMPLETIONS, prompt="x", priority=2**63)
    assert response.status_code == 400


@pytest.mark.parametrize("salt", ['""', "5", f'"{"x" * 257}"', r'"\ud800"'])
async def test_a_salt_that_is_no_text_of_fair_length_is_refused(api: Any, salt: str) -> None:
    body = f'{{"prompt": "x", "cache_salt": {salt}}}'
    response = await api.http.post(COMPLETIONS, content=body)
    assert response.status_code == 400
    assert await api.complete("x", cache_salt="tenant")


async def test_the_reset_endpoint_is_absent_unless_asked_for(api: Any) -> None:
    assert ServerConfig().server_dev_mode is False
    assert (await api.post("/reset_prefix_cache")).status_code == 404


async def test_the_reset_endpoint_returns_when_the_engine_has_done_it(
    start_api: Any, echo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    resets: list[bool] = []
    monkeypatch.setattr(echo.EchoEngine, "reset_prefix_cache", lambda _: resets.append(True))
    api = await start_api(dev_mode=True)
    response = await api.post("/reset_prefix_cache")
    assert (response.status_code, response.content, resets) == (200, b"", [True])


async def test_the_reset_endpoint_asks_for_the_key(start_api: Any) -> None:
    api = await start_api(dev_mode=True, api_key="secret")
    assert (await api.post("/reset_prefix_cache")).status_code == 401
    headers = {"authorization": "Bearer secret"}
    assert (await api.http.post("/reset_prefix_cache", headers=headers)).status_code == 200


async def test_the_reset_endpoint_tells_that_the_engine_is_dead(start_api: Any, echo: Any) -> None:
    api = await start_api(dev_mode=True)
    await api.post(COMPLETIONS, prompt=[echo.FAULTY_STEP])
    assert (await api.post("/reset_prefix_cache")).status_code == 503
