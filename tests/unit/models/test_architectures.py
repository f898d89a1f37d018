"""Every architecture against ``transformers`` with the same random weights in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import load_engine
from reference_server.engine.request import EngineRequest, SamplingParams

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore")  # transformers warns of its own future

LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {}),
    "llama, tied head": ("Llama", {"tie_word_embeddings": True}),
    "llama, biases": ("Llama", {"attention_bias": True, "mlp_bias": True}),
    "llama, wide heads": ("Llama", {"head_dim": 32}),
    "llama, all heads with keys": ("Llama", {"num_key_value_heads": 4}),
    "llama, llama3 rope": ("Llama", {"rope_parameters": LLAMA3_ROPE}),
    "llama, linear rope": (
        "Llama",
        {"rope_parameters": {"rope_type": "linear", "rope_theta": 5000.0, "factor": 4.0}},
    ),
    "llama, sharded": ("Llama", {"max_shard_size": "100KB"}),
    "qwen2": ("Qwen2", {}),
    "qwen2, tied head": ("Qwen2", {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3", {"head_dim": 16}),
    "qwen3, wide heads, tied head": ("Qwen3", {"head_dim": 32, "tie_word_embeddings": True}),
}
PROMPTS = [[5, 9, 77, 3], [100, 4, 3, 2, 17, 90, 33] * 6, [8]]


@pytest.mark.parametrize("case", CASES)
def test_logprobs_and_greedy_tokens_equal_those_of_transformers(
    case: str, save_model: Callable[..., tuple[Path, Any]]
) -> None:
    kind, settings = CASES[case]
    folder, reference = save_model(kind, **settings)
    config = EngineConfig(
        model=str(folder), dtype="float32", device="cpu", max_num_batched_tokens=16, cpu_threads=1
    )
    engine = load_engine(config)
    sampling = SamplingParams(max_tokens=12, seed=0, temperature=0.0, ignore_eos=True, logprobs=5)
    answers: dict[str, list[int]] = {str(i): [] for i in range(len(PROMPTS))}
    logprobs: dict[str, list[list[tuple[int, float]]]] = {str(i): [] for i in range(len(PROMPTS))}
    for index, prompt in enumerate(PROMPTS):
        engine.add(EngineRequest(request_id=str(index), prompt_token_ids=prompt, sampling=sampling))
    while engine.has_work:
        for output in engine.step():
            answers[output.request_id] += output.token_ids
            logprobs[output.request_id] += [entry.top for entry in output.logprobs or []]

    for index, prompt in enumerate(PROMPTS):
        answer = answers[str(index)]
        with torch.inference_mode():
            logits = reference(torch.tensor([prompt + answer[:-1]])).logits[0, len(prompt) - 1 :]
        assert answer == logits.argmax(-1).tolist()
        expected = logits.log_softmax(-1).topk(5)
        ours = torch.tensor([[p for _, p in top] for top in logprobs[str(index)]])
        torch.testing.assert_close(ours, expected.values, rtol=1e-4, atol=1e-4)
