"""The API on a real socket in front of the echo engine: what it answers is what the prompt says."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import pytest_asyncio

from reference_server.api.admission import Admission
from reference_server.api.app import create_app
from reference_server.api.context import Context
from reference_server.api.http_server import HttpServer
from reference_server.api.listening import bind, url
from reference_server.api.server_metrics import ServerMetrics
from reference_server.engine.thread_client import ThreadClient
from reference_server.text.load import load_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import ModuleType

ENGINE_FAKES = Path(__file__).parent.parent / "engine_clients"


def parse_stream(text: str) -> list[dict[str, Any]]:
    """The JSON of each event; every event is one data line, the last says ``[DONE]``."""
    frames = text.split("\n\n")
    assert frames.pop() == ""
    assert frames.pop() == "data: [DONE]"
    assert all(frame.startswith("data: {") and "\n" not in frame for frame in frames)
    return [json.loads(frame.removeprefix("data: ")) for frame in frames]


@dataclasses.dataclass
class Api:
    """A running server and a client for it."""

    base_url: str
    context: Context
    http: httpx.AsyncClient

    async def post(self, path: str, **fields: Any) -> httpx.Response:
        """Send a JSON body."""
        return await self.http.post(path, json=fields)

    async def stream(self, path: str, **fields: Any) -> list[dict[str, Any]]:
        """The chunks of a stream that must end with ``[DONE]``."""
        response = await self.post(path, stream=True, **fields)
        assert response.status_code == 200, response.text
        return parse_stream(response.text)

    async def complete(self, prompt: Any, **fields: Any) -> dict[str, Any]:
        """The answer of a text completion that must succeed."""
        response = await self.post("/v1/completions", prompt=prompt, **fields)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer


@pytest.fixture(scope="module")
def echo() -> Iterator[ModuleType]:
    """The module ``echo_engine``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ENGINE_FAKES))
        yield importlib.import_module("echo_engine")


@contextlib.asynccontextmanager
async def running_api(echo: ModuleType, **options: Any) -> AsyncIterator[Api]:
    engine = echo.EchoEngine(**options.get("engine", {}))
    client = ThreadClient(lambda: engine)
    info = await client.start()
    admission = Admission(
        options.get("max_num_seqs", 64), options.get("max_num_queued_reqs"), lambda: client.stats
    )
    metrics = ServerMetrics("echo", info, lambda: client.stats, lambda: admission.num_rejections)
    client.on_step = metrics.on_step
    tokenizer, chat_template = load_text("tiny-random")
    context = Context(
        model_names=("echo", "alias"),
        model_path="echo",
        client=client,
        info=info,
        tokenizer=tokenizer,
        chat_template=chat_template,
        admission=admission,
        metrics=metrics,
        version="0.0.0",
    )
    server = HttpServer(create_app(context, options.get("api_key"), dev_mode=options.get("dev_mode", False)))
    bound = bind("127.0.0.1", 0)
    serving = asyncio.create_task(server.listen(bound))
    await server.until_started(serving)
    base_url = url("127.0.0.1", bound.getsockname()[1])
    async with httpx.AsyncClient(base_url=base_url, timeout=20) as http:
        yield Api(base_url, context, http)
    server.should_exit = True
    await serving
    await client.close()
    context.text_pool.shutdown()


@pytest_asyncio.fixture(loop_scope="module")
async def start_api(echo: ModuleType) -> AsyncIterator[Callable[..., Any]]:
    """A maker of servers with options of their own."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(**options: Any) -> Api:
            return await stack.enter_async_context(running_api(echo, **options))

        yield start


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(echo: ModuleType) -> AsyncIterator[Api]:
    """A server as it comes, for all tests of a file; these run on the module's event loop."""
    async with running_api(echo) as server:
        yield server
