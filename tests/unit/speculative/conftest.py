"""Requests, engines that draft, and proposers that know or don't know what comes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from support.engine_run import run_to_end
from support.noisy_model import write_noisy_model

from reference_server.engine.config import EngineConfig
from reference_server.engine.draft_lengths import WholeDrafts
from reference_server.engine.drafting import Drafting
from reference_server.engine.engine import Engine, load_engine
from reference_server.engine.request import EngineOutput, EngineRequest, SamplingParams
from reference_server.speculative import Proposer

if TYPE_CHECKING:
    from pathlib import Path

    from reference_server.engine.sequence import Sequence

MakeRequest = Callable[..., EngineRequest]
MakeEngine = Callable[..., Engine]
Answers = dict[str, list[EngineOutput]]
Run = Callable[..., Answers]
KEYS: dict[str, dict[str, Any]] = {
    "ngram": {"prompt_lookup_min": 1, "prompt_lookup_max": 3},
    "suffix": {},
    "draft_model": {},
}
"""What each method is set to, so that it drafts at every chance."""


class Oracle(Proposer):
    """Knows the answers by request id, and is wrong with a given chance at each token."""

    def __init__(self, answers: dict[str, list[int]], error_rate: float) -> None:
        self._answers, self._error_rate, self._rng = answers, error_rate, random.Random(0)

    def propose(self, limits: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        """What comes next, more or less."""
        return {sequence: self._guess(sequence, limit) for sequence, limit in limits.items()}

    def _guess(self, sequence: Sequence, limit: int) -> list[int]:
        start = sequence.num_output_tokens
        known = self._answers[sequence.request_id][start : start + limit]
        return [2 + t % 250 if self._rng.random() < self._error_rate else t for t in known]


@pytest.fixture(scope="session")
def make_request() -> MakeRequest:
    """``make_request(id, prompt, **sampling)``; greedy, 24 tokens, unless said otherwise."""

    def make(request_id: str = "a", prompt: list[int] | None = None, **sampling: Any) -> EngineRequest:
        settings = {"max_tokens": 24, "seed": 0, "temperature": 0.0, "ignore_eos": True} | sampling
        return EngineRequest(
            request_id=request_id,
            prompt_token_ids=prompt or [5, 6, 7] * 4,
            sampling=SamplingParams(**settings),
        )

    return make


@pytest.fixture(scope="session")
def noisy_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that mostly says what ``tiny-random`` says."""
    return write_noisy_model(tmp_path_factory.mktemp("noisy"), noise=0.05)


@pytest.fixture(scope="session")
def make_engine(noisy_model: Path) -> MakeEngine:
    """``make_engine(num_drafted, method, **settings)``: ``tiny-random`` in float32; 0 drafts nothing.

    ``drafting`` adds keys of the method, of which ``draft_model`` drafts by the noisy model.
    """

    def make(
        num_drafted: int = 0, method: str = "ngram", drafting: dict[str, Any] | None = None, **settings: Any
    ) -> Engine:
        defaults: dict[str, Any] = {
            "model": "tiny-random", "dtype": "float32", "device": "cpu", "cpu_threads": 1
        }  # fmt: skip
        if num_drafted:
            common = {"method": method, "num_speculative_tokens": num_drafted, "adaptive": False}
            model = {"model": str(noisy_model)} if method == "draft_model" else {}
            defaults["speculative_config"] = common | KEYS[method] | model | (drafting or {})
        return load_engine(EngineConfig(**(defaults | settings)))

    return make


@pytest.fixture(scope="session")
def with_oracle() -> Callable[..., Engine]:
    """``with_oracle(engine, answers, error_rate=0.0)``: let it know the answers; 4 tokens a draft."""

    def change(
        engine: Engine, answers: dict[str, list[int]], *, error_rate: float = 0.0, num_drafted: int = 4
    ) -> Engine:
        oracle = Oracle(answers, error_rate)
        engine._scheduler._drafting = Drafting(oracle, WholeDrafts(), num_drafted, engine.info.max_model_len)
        return engine

    return change


@pytest.fixture(scope="session")
def run() -> Run:
    """``run(engine, *requests)``: to the end, after which all blocks are free; outputs by request id."""

    def run_and_count(engine: Engine, *requests: EngineRequest) -> Answers:
        outputs = run_to_end(engine, *requests)
        assert engine.stats.num_free_blocks == engine.stats.num_blocks
        return outputs

    return run_and_count


@pytest.fixture(scope="session")
def tokens() -> Callable[[Answers], dict[str, list[int]]]:
    """Token ids of answers."""

    def of(answers: Answers) -> dict[str, list[int]]:
        return {
            request_id: [token_id for output in outputs for token_id in output.token_ids]
            for request_id, outputs in answers.items()
        }

    return of
