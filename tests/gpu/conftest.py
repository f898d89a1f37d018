"""Skips where there is no CUDA device; an engine on it. Imports nothing but the engine's own needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import Engine
from reference_server.engine.loading import assemble_model
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.models.loaders import tiny_random

MakeEngine = Callable[..., Engine]
MakeRequest = Callable[..., EngineRequest]


def pytest_configure(config: pytest.Config) -> None:
    """The mark, for runs without the project's own settings."""
    config.addinivalue_line("markers", "gpu: needs a CUDA device")


@pytest.fixture(scope="session", autouse=True)
def device() -> torch.device:
    """The CUDA device, with kernels that serve."""
    if not torch.cuda.is_available():
        pytest.skip("torch finds no CUDA device")
    pytest.importorskip("triton", reason="Triton is not installed; install it beside torch")
    return torch.device("cuda")


@pytest.fixture(scope="session")
def make_engine() -> MakeEngine:
    """``make_engine(**settings)``: ``tiny-random`` on the device in float32, unless said otherwise."""

    def make(**settings: Any) -> Engine:
        defaults: dict[str, Any] = {"device": "cuda", "dtype": "float32", "num_gpu_blocks_override": 400}
        config = EngineConfig(model="tiny-random", **(defaults | settings))
        return Engine(config, assemble_model(config, tiny_random.load("tiny-random", 0)))

    return make


@pytest.fixture(scope="session")
def make_request() -> MakeRequest:
    """``make_request(id, prompt, **sampling)``; greedy, 24 tokens, unless said otherwise."""

    def make(request_id: str, prompt: list[int], **sampling: Any) -> EngineRequest:
        wishes: dict[str, Any] = {"max_tokens": 24, "seed": 0, "temperature": 0.0, "ignore_eos": True}
        params = SamplingParams(**(wishes | sampling))
        return EngineRequest(request_id=request_id, prompt_token_ids=prompt, sampling=params)

    return make
