"""A server on the GPU's path, end to end: Triton's attention, interpreted, and steps begun ahead."""

from __future__ import annotations

import concurrent.futures
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from support.triton_interpreter import skip_unless_interpreted

if TYPE_CHECKING:
    from collections.abc import Callable

TINY = ("--model", "tiny-random", "--dtype", "float32", "--num-gpu-blocks-override", "8", "--block-size", "8")
PROMPTS = ["a", "more than a block"]


def answer(base_url: str, prompt: str) -> Any:
    body = {"prompt": prompt, "max_tokens": 3, "temperature": 0, "ignore_eos": True, "logprobs": 2}
    reply = httpx.post(f"{base_url}/v1/completions", json=body, timeout=120)
    reply.raise_for_status()
    choice = reply.json()["choices"][0]
    return choice["text"], choice["logprobs"]["tokens"], choice["finish_reason"]


def answers(base_url: str) -> list[Any]:
    """Of all prompts, asked at once."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return list(pool.map(lambda prompt: answer(base_url, prompt), PROMPTS))


@pytest.mark.soak
def test_a_server_with_triton_answers_as_one_without(start_server: Callable[..., Any]) -> None:
    skip_unless_interpreted()
    expected = answers(start_server(*TINY).base_url)
    assert answers(start_server(*TINY, "--attention-backend", "triton").base_url) == expected
