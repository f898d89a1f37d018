"""An engine without a model: it says its prompt again, a token per step. Some tokens are faults.

It has the form of ``reference_server.engine.loop.SteppedEngine``.
"""

# ruff: noqa: D102  (the protocol documents the methods)

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from reference_server.engine.request import EngineInfo, EngineOutput, EngineRequest, EngineStats, TokenLogprob

if TYPE_CHECKING:
    from reference_server.engine.config import EngineConfig

FAULTY_STEP = 301
HANGING_STEP = 302
REFUSED = 303
SUDDEN_DEATH = 304
NUM_BLOCKS = 100


class EchoEngine:
    """Says the prompt once and stops, or again and again with ``ignore_eos``."""

    def __init__(
        self, max_model_len: int = 4096, step_s: float = 0.0, scheduling_policy: str = "fcfs"
    ) -> None:
        self.info = EngineInfo(
            max_model_len=max_model_len,
            vocab_size=512,
            eos_token_ids=(1,),
            num_blocks=NUM_BLOCKS,
            block_size=16,
            dtype="float32",
            device="cpu",
            scheduling_policy=scheduling_policy,
        )
        self._step_s = step_s
        self._running: dict[str, tuple[EngineRequest, int]] = {}
        self._num_steps = self._step_tokens = 0
        self._generation_tokens = 0

    @property
    def stats(self) -> EngineStats:
        return EngineStats(
            num_running=len(self._running),
            num_blocks=NUM_BLOCKS,
            num_free_blocks=NUM_BLOCKS - len(self._running),
            num_steps=self._num_steps,
            generation_tokens=self._generation_tokens,
            step_tokens=self._step_tokens,
            last_step_ns=time.monotonic_ns(),
        )

    @property
    def has_work(self) -> bool:
        return bool(self._running)

    def add(self, request: EngineRequest) -> None:
        if request.prompt_token_ids[0] == REFUSED:
            raise ValueError("this prompt is refused")
        self._running[request.request_id] = (request, 0)

    def abort(self, request_id: str) -> EngineOutput | None:
        if self._running.pop(request_id, None) is None:
            return None
        return EngineOutput(request_id=request_id, finish_reason="abort")

    def reset_prefix_cache(self) -> None:
        pass

    def step(self) -> list[EngineOutput]:
        time.sleep(self._step_s)
        self._num_steps += 1
        self._step_tokens = len(self._running)
        return [self._advance(request, position) for request, position in list(self._running.values())]

    def _advance(self, request: EngineRequest, position: int) -> EngineOutput:
        prompt = request.prompt_token_ids
        self._misbehave(prompt[0])
        token_id = prompt[position % len(prompt)]
        self._generation_tokens += 1
        position += 1
        self._running[request.request_id] = (request, position)
        finish_reason = None
        if position >= request.sampling.max_tokens:
            finish_reason = "length"
        elif position == len(prompt) and not request.sampling.ignore_eos:
            finish_reason = "stop"
        if finish_reason:
            del self._running[request.request_id]
        wanted = request.sampling.logprobs
        return EngineOutput(
            request_id=request.request_id,
            token_ids=[token_id],
            finish_reason=finish_reason,
            logprobs=None if wanted is None else [_logprob(token_id, wanted)],
            num_prompt_tokens=len(prompt),
            scheduled_ns=request.arrival_ns,
            first_token_ns=time.monotonic_ns(),
        )

    @staticmethod
    def _misbehave(token_id: int) -> None:
        if token_id == FAULTY_STEP:
            raise RuntimeError("a step went wrong")
        if token_id == HANGING_STEP:
            time.sleep(600)
        if token_id == SUDDEN_DEATH:
            os._exit(7)


def _logprob(token_id: int, num_alternatives: int) -> TokenLogprob:
    top = [(token_id, -0.5), (token_id + 1, float("-inf"))]
    return TokenLogprob(token_id, -0.5, top[:num_alternatives])


def load_echo(config: EngineConfig) -> EchoEngine:
    """The factory for a child process; ``model`` says how it shall go."""
    if config.model == "missing":
        raise FileNotFoundError("no such model: missing; fetch it first")
    if config.model == "slow-to-load":
        time.sleep(600)
    return EchoEngine(step_s=0.005)
