"""The key is asked for under /v1 and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "canary-key"
OPEN_PATHS = {"/health", "/ping", "/version", "/load", "/metrics", "/tokenize", "/detokenize"}
DOCS_PATHS = {"/openapi.json", "/docs", "/docs/oauth2-redirect", "/redoc"}


async def test_every_path_under_v1_needs_the_key(start_api: Any) -> None:
    """The paths are read from the app, so that a new one can't be forgotten."""
    api = await start_api(api_key=KEY)
    paths = (await api.http.get("/openapi.json")).json()["paths"]
    for path, methods in paths.items():
        for method in methods:
            response = await api.http.request(method.upper(), path.replace("{name}", "echo"))
            assert (response.status_code == 401) == path.startswith("/v1/"), path
    assert {path for path in paths if not path.startswith("/v1/")} == OPEN_PATHS


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer wrong", KEY, f"Basic {KEY}", "Bearer " + "x" * 10**4]
)
async def test_a_missing_or_wrong_key_is_a_401(start_api: Any, header: str | None) -> None:
    api = await start_api(api_key=KEY)
    headers = {} if header is None else {"authorization": header}
    response = await api.http.get("/v1/models", headers=headers)
    assert response.status_code == 401
    assert response.json()["error"]["code"] == 401
    assert KEY not in response.text


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
async def test_the_right_key_opens(start_api: Any, scheme: str) -> None:
    api = await start_api(api_key=KEY)
    response = await api.http.get("/v1/models", headers={"authorization": f"{scheme} {KEY}"})
    assert response.status_code == 200


async def test_asking_for_options_needs_no_key(start_api: Any) -> None:
    api = await start_api(api_key=KEY)
    assert (await api.http.options("/v1/models")).status_code == 405
