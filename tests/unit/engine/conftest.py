"""Requests, sequences and a way to run an engine to the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.engine_run import run_to_end

from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import Engine, load_engine
from reference_server.engine.request import EngineOutput, EngineRequest, SamplingParams
from reference_server.engine.sequence import Sequence

MakeRequest = Callable[..., EngineRequest]
MakeSequence = Callable[..., Sequence]
MakeEngine = Callable[..., Engine]
Run = Callable[..., dict[str, list[EngineOutput]]]


@pytest.fixture(scope="session")
def make_request() -> MakeRequest:
    """``make_request(id, prompt, **sampling)``; greedy, 8 tokens, unless said otherwise."""

    def make(request_id: str = "a", prompt: list[int] | None = None, **sampling: Any) -> EngineRequest:
        settings = {"max_tokens": 8, "seed": 0, "temperature": 0.0, "ignore_eos": True} | sampling
        return EngineRequest(
            request_id=request_id, prompt_token_ids=prompt or [5, 6, 7], sampling=SamplingParams(**settings)
        )

    return make


@pytest.fixture(scope="session")
def make_sequence(make_request: MakeRequest) -> MakeSequence:
    """``make_sequence(id, prompt_len, **sampling)``."""

    def make(request_id: str = "a", prompt_len: int = 3, **sampling: Any) -> Sequence:
        return Sequence(make_request(request_id, list(range(2, prompt_len + 2)), **sampling))

    return make


@pytest.fixture(scope="session")
def make_engine() -> MakeEngine:
    """A ``tiny-random`` engine in float32 on one thread."""

    def make(**settings: Any) -> Engine:
        defaults = {"model": "tiny-random", "dtype": "float32", "device": "cpu", "cpu_threads": 1}
        return load_engine(EngineConfig(**(defaults | settings)))

    return make


@pytest.fixture(scope="session")
def engine(make_engine: MakeEngine) -> Engine:
    """One for all tests that leave it idle and don't look at its counters."""
    return make_engine()


@pytest.fixture(scope="session")
def run() -> Run:
    """``run(engine, *requests)``: to the end; outputs by request id."""
    return run_to_end
