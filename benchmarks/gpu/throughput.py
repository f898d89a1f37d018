"""Tokens per second of many requests: our engine beside transformers' continuous batching, same weights."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

import torch
from random_model import DEVICE, make_engine, request, shape, weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from reference_server.models.config import ModelConfig

NUM_REQUESTS = 64
PROMPT_LEN = 128
MAX_TOKENS = 128


def measure(found: dict[str, Any], quick: bool) -> dict[str, Any]:
    """Both, each on a second run of the same work: the first compiles and records."""
    del found
    config, num_requests = shape(quick), NUM_REQUESTS // (4 if quick else 1)
    prompts = [
        request(i, PROMPT_LEN, MAX_TOKENS, config.vocab_size).prompt_token_ids for i in range(num_requests)
    ]
    ours, our_answers = run_ours(config, num_requests)
    free()
    figures: dict[str, Any] = {"requests": num_requests, "tokenpace_tokens_per_s": ours}
    try:
        theirs, their_answers = run_transformers(config, prompts)
    except ImportError as error:
        return figures | {"transformers": f"not measured: {error}"}
    except Exception as error:  # noqa: BLE001  # a peer's fault is told and is none of ours
        return figures | {"transformers": f"not measured: {type(error).__name__}: {error}"}
    figures |= {"transformers_tokens_per_s": theirs, "ratio": ours / theirs}
    alike = [a[:8] == b[:8] for a, b in zip(our_answers, their_answers, strict=True)]
    return figures | {"answers_that_begin_alike": sum(alike) / len(alike)}


def run_ours(config: ModelConfig, num_requests: int) -> tuple[float, list[list[int]]]:
    """Tokens per second, and the answers."""
    engine = make_engine(config, max_num_seqs=64, max_num_batched_tokens=2048, enable_prefix_caching=False)
    seconds, answers = 0.0, {}
    for _ in range(2):
        answers = {str(i): [] for i in range(num_requests)}
        for i in range(num_requests):
            engine.add(request(i, PROMPT_LEN, MAX_TOKENS, config.vocab_size))
        began = time.perf_counter()
        while engine.has_work:
            for output in engine.step():
                answers[output.request_id] += output.token_ids
        seconds = time.perf_counter() - began
    num_tokens = sum(map(len, answers.values()))
    return num_tokens / seconds, list(answers.values())


def run_transformers(config: ModelConfig, prompts: list[list[int]]) -> tuple[float, list[list[int]]]:
    """As ``run_ours``; at most 64 requests in a batch too, settings as its authors leave them."""
    from transformers import GenerationConfig

    model = transformers_model(config)
    generation = GenerationConfig(
        max_new_tokens=MAX_TOKENS, do_sample=False, eos_token_id=-1, pad_token_id=0, use_cache=True
    )
    seconds, results = 0.0, {}
    for _ in range(2):
        began = time.perf_counter()
        results = model.generate_batch(inputs=prompts, generation_config=generation, persistent_manager=True)
        seconds = time.perf_counter() - began
    answers = [list(result.generated_tokens) for result in results.values()]
    if len(answers) != len(prompts):
        raise RuntimeError(f"{len(answers)} of {len(prompts)} requests were answered")
    return sum(map(len, answers)) / seconds, answers


def transformers_model(config: ModelConfig) -> PreTrainedModel:
    """Llama with our weights; built without memory, then given them."""
    from transformers import LlamaConfig, LlamaForCausalLM

    named = LlamaConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_hidden_layers=config.num_layers,
        num_attention_heads=config.num_heads,
        num_key_value_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        rms_norm_eps=config.rms_norm_eps,
        rope_parameters={"rope_type": "default", "rope_theta": config.rope_theta},
        max_position_embeddings=config.max_model_len,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
        dtype="bfloat16",
    )
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(DEVICE):
            model = LlamaForCausalLM(named)
    finally:
        torch.set_default_dtype(torch.float32)
    state = dict(weights(config)) | {"lm_head.weight": weights(config)["model.embed_tokens.weight"]}
    model.load_state_dict(state, strict=True)
    model.tie_weights()
    return model.eval()


def free() -> None:
    """Give memory back, so that the next one finds all of it."""
    gc.collect()
    torch.cuda.empty_cache()
