"""Both clients in front of the echo engine."""

from __future__ import annotations

import contextlib
import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine.config import EngineConfig
from reference_server.engine.process_client import ProcessClient
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.engine.thread_client import ThreadClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import ModuleType

    from reference_server.engine.client import EngineClient

HERE = Path(__file__).parent


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module ``echo_engine``, importable here and in child processes."""
    monkeypatch.syspath_prepend(str(HERE))
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", path)
    return importlib.import_module("echo_engine")


def make_client(kind: str, model: str, echo: ModuleType) -> EngineClient:
    config = EngineConfig(model=model)
    if kind == "thread":
        return ThreadClient(lambda: echo.load_echo(config))
    return ProcessClient(config, factory="echo_engine:load_echo")


@pytest.fixture(params=["thread", "process"])
async def client(request: pytest.FixtureRequest, echo: ModuleType) -> AsyncIterator[EngineClient]:
    """A started client of either kind."""
    client = make_client(request.param, "echo", echo)
    await client.start()
    yield client
    await client.close()


@pytest.fixture
async def process_client(echo: ModuleType) -> AsyncIterator[Callable[[str], ProcessClient]]:
    """A maker of process clients that are closed at the end, not yet started."""
    async with contextlib.AsyncExitStack() as stack:

        def make(model: str = "echo") -> ProcessClient:
            client = make_client("process", model, echo)
            assert isinstance(client, ProcessClient)
            stack.push_async_callback(client.close)
            return client

        yield make


@pytest.fixture
def engine_request() -> Callable[..., EngineRequest]:
    """A maker of requests."""

    def make(request_id: str = "r", prompt: list[int] | None = None, **sampling: Any) -> EngineRequest:
        params = SamplingParams(**{"max_tokens": 4, "seed": 1, "ignore_eos": True, **sampling})
        return EngineRequest(request_id=request_id, prompt_token_ids=prompt or [5, 6, 7], sampling=params)

    return make
