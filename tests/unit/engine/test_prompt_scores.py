"""Log-probabilities of prompts, beside a plain computation of the whole text at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import torch

from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import Engine
from reference_server.engine.output_stream import merge
from reference_server.engine.prompt_scores import MAX_ROWS, prompt_logprobs
from reference_server.engine.request import EngineOutput, EngineRequest
from reference_server.quality.forced_model import ForcedModel

MakeEngine = Callable[..., Engine]
MakeRequest = Callable[..., EngineRequest]
Run = Callable[..., dict[str, list[EngineOutput]]]

LENGTHS = (1, 2, 15, 17, MAX_ROWS, MAX_ROWS + 1, 70)
PROMPTS = {
    str(length): [random.Random(length).randrange(2, 258) for _ in range(length)] for length in LENGTHS
}
CONFIG = EngineConfig(model="tiny-random", dtype="float32", device="cpu", cpu_threads=1)


@pytest.fixture(scope="module")
def expected() -> dict[str, torch.Tensor]:
    """Log-probabilities ``[tokens, vocab_size]`` after each token of the prompts."""
    model = ForcedModel(CONFIG)
    return {name: model.logits(prompt, 0).log_softmax(dim=-1) for name, prompt in PROMPTS.items()}


def check(output: EngineOutput, prompt: list[int], expected: torch.Tensor, count: int = 3) -> None:
    """One entry per token after the first: its own, its rank, and the best with theirs."""
    assert output.prompt_logprobs is not None
    assert [entry.token_id for entry in output.prompt_logprobs] == prompt[1:]
    for place, entry in enumerate(output.prompt_logprobs):
        row = expected[place]
        assert entry.logprob == pytest.approx(row[entry.token_id].item(), abs=2e-5)
        assert entry.rank == int((row >= row[entry.token_id]).sum())
        assert [value for _, value in entry.top] == pytest.approx(row.topk(count).values.tolist(), abs=2e-5)
        assert [token_id for token_id, _ in entry.top] == row.topk(count).indices.tolist()


CASES: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "chunked": {"max_num_batched_tokens": 7},
    "few at once": {"max_num_seqs": 2},
    "small blocks": {"block_size": 1, "num_gpu_blocks_override": 2000},
    "preempted and chunked": {"block_size": 4, "num_gpu_blocks_override": 32, "max_num_batched_tokens": 9},
    "static": {"batching": "static", "max_num_seqs": 3},
    "without a cache": {"kv_cache": "off", "max_num_batched_tokens": 60},
    "with drafts": {"speculative_config": {"method": "ngram", "num_speculative_tokens": 4}},
}


@pytest.mark.parametrize("case", CASES)
def test_prompts_have_the_plain_computation_s_scores_whoever_shares_the_steps(
    make_engine: MakeEngine,
    make_request: MakeRequest,
    run: Run,
    expected: dict[str, torch.Tensor],
    case: str,
) -> None:
    """Mates that want none run beside; their tokens and those of the scored are the same as without."""
    engine = make_engine(**CASES[case])
    scored = [make_request(name, prompt, prompt_logprobs=3) for name, prompt in PROMPTS.items()]
    plain = [make_request(f"plain {name}", prompt) for name, prompt in PROMPTS.items()]
    outputs = run(engine, *[request for pair in zip(plain, scored, strict=True) for request in pair])
    for name, prompt in PROMPTS.items():
        first, *later = outputs[name]
        check(first, prompt, expected[name])
        assert all(output.prompt_logprobs is None for output in later)
        assert all(output.prompt_logprobs is None for output in outputs[f"plain {name}"])
        texts = [[t for o in outputs[key] for t in o.token_ids] for key in (name, f"plain {name}")]
        assert texts[0] == texts[1]


def test_a_scored_prompt_is_computed_whole_and_serves_the_prefix_cache(
    make_engine: MakeEngine, make_request: MakeRequest, run: Run, expected: dict[str, torch.Tensor]
) -> None:
    engine = make_engine(block_size=16)
    prompt = PROMPTS["70"]
    run(engine, make_request("70", prompt))
    queries = engine.stats.prefix_cache_queries
    (first, *_) = run(engine, make_request("70", prompt, prompt_logprobs=3))["70"]
    check(first, prompt, expected["70"])
    assert first.num_cached_tokens == 0
    assert engine.stats.prefix_cache_queries == queries
    engine.reset_prefix_cache()
    run(engine, make_request("70", prompt, prompt_logprobs=3))
    (first, *_) = run(engine, make_request("70", prompt))["70"]
    assert first.num_cached_tokens == 64


def test_a_prompt_may_be_read_without_an_answer(
    make_engine: MakeEngine, make_request: MakeRequest, run: Run, expected: dict[str, torch.Tensor]
) -> None:
    """Nothing is generated, with or without scores, and nothing is left behind."""
    engine = make_engine(max_num_batched_tokens=9)
    requests = [
        make_request("70", PROMPTS["70"], max_tokens=0, prompt_logprobs=3),
        make_request("plain", PROMPTS["17"], max_tokens=0),
        make_request("mate", PROMPTS["2"], max_tokens=4),
    ]
    outputs = run(engine, *requests)
    (only,) = outputs["70"]
    check(only, PROMPTS["70"], expected["70"])
    (plain,) = outputs["plain"]
    for output in (only, plain):
        assert (output.token_ids, output.finish_reason, output.first_token_ns) == ([], "length", 0)
    assert len(outputs["mate"]) == 4
    stats = engine.stats
    assert (stats.generation_tokens, stats.prompt_tokens) == (4, 70 + 17 + 2)
    assert stats.num_free_blocks == stats.num_blocks


def test_quantized_layers_score_as_they_compute(
    make_engine: MakeEngine, make_request: MakeRequest, run: Run
) -> None:
    prompt, config = PROMPTS["70"], {"quantization": "int8"}
    plain = ForcedModel(msgspec.structs.replace(CONFIG, **config)).logits(prompt, 0).log_softmax(dim=-1)
    (first, *_) = run(make_engine(**config), make_request("a", prompt, prompt_logprobs=0))["a"]
    assert first.prompt_logprobs is not None
    found = [entry.logprob for entry in first.prompt_logprobs]
    wanted = [plain[place, token].item() for place, token in enumerate(prompt[1:])]
    assert found == pytest.approx(wanted, abs=2e-5)
    assert all(entry.top == [] for entry in first.prompt_logprobs)


def test_a_tie_counts_into_the_rank() -> None:
    (entry,) = prompt_logprobs(torch.tensor([[1.0, 2.0, 2.0, 0.0]]), [1], 1)
    assert entry.rank == 2
    assert entry.logprob == pytest.approx(torch.tensor([1.0, 2.0, 2.0, 0.0]).log_softmax(-1)[1].item())


def test_a_slow_reader_s_merged_output_keeps_the_prompt_s_scores() -> None:
    scores = prompt_logprobs(torch.zeros(1, 4), [1], 0)
    outputs = [
        EngineOutput(request_id="a", token_ids=[5], prompt_logprobs=scores),
        EngineOutput(request_id="a", token_ids=[6]),
    ]
    assert merge(outputs).prompt_logprobs == scores
