"""The engine's state as metrics: counters that add up and never fall, whatever came from the cache."""

from __future__ import annotations

import msgspec

from reference_server.api.engine_metrics import collect_engine
from reference_server.api.llamacpp_metrics import collect_llamacpp
from reference_server.engine.request import EngineInfo, EngineStats

INFO = EngineInfo(
    max_model_len=64,
    vocab_size=10,
    eos_token_ids=(1,),
    num_blocks=8,
    block_size=16,
    dtype="float32",
    device="cpu",
)


def values(stats: EngineStats, info: EngineInfo = INFO) -> dict[str, float]:
    """By name, and by source or position where there is one."""
    families = [*collect_engine({"model_name": "m"}, info, stats), *collect_llamacpp(stats)]
    return {
        sample.name + sample.labels.get("source", sample.labels.get("position", "")): sample.value
        for family in families
        for sample in family.samples
    }


def test_prompt_tokens_by_source_add_up() -> None:
    found = values(EngineStats(prompt_tokens=300, prompt_tokens_cached=96, prefix_cache_hits=160))
    assert found["vllm:prompt_tokens_by_source_totallocal_compute"] == 204
    assert found["vllm:prompt_tokens_by_source_totallocal_cache_hit"] == 96
    assert found["vllm:prompt_tokens_total"] == 300
    assert found["vllm:prompt_tokens_cached_total"] == 96
    assert (found["llamacpp:prompt_tokens_total"], found["llamacpp:prompt_tokens_cached_total"]) == (204, 96)


def test_a_hit_of_a_prompt_that_is_still_computed_takes_nothing_from_a_counter() -> None:
    """Hits are known at once, prompts count when they are done: a difference of the two could fall."""
    before = values(EngineStats(prompt_tokens=100))
    after = values(EngineStats(prompt_tokens=100, prefix_cache_queries=200, prefix_cache_hits=96))
    assert all(after[name] >= value for name, value in before.items() if name.endswith("_total"))
    assert after["vllm:prompt_tokens_by_source_totallocal_compute"] == 100


def test_cached_blocks_that_nobody_owns_are_free() -> None:
    found = values(EngineStats(num_blocks=8, num_free_blocks=6))
    assert found["vllm:kv_cache_usage_perc"] == found["vllm:gpu_cache_usage_perc"] == 0.25


def test_drafts_under_the_names_of_vllm() -> None:
    found = values(EngineStats(num_drafts=10, num_draft_tokens=35, num_accepted_per_pos=(7, 4, 1, 0)))
    speculation = {name: value for name, value in found.items() if "spec_decode" in name}
    assert speculation == {
        "vllm:spec_decode_num_drafts_total": 10,
        "vllm:spec_decode_num_draft_tokens_total": 35,
        "vllm:spec_decode_num_accepted_tokens_total": 12,
        "vllm:spec_decode_num_accepted_tokens_per_pos_total0": 7,
        "vllm:spec_decode_num_accepted_tokens_per_pos_total1": 4,
        "vllm:spec_decode_num_accepted_tokens_per_pos_total2": 1,
        "vllm:spec_decode_num_accepted_tokens_per_pos_total3": 0,
    }


def test_without_speculative_decoding_there_is_nothing_about_drafts() -> None:
    assert not [name for name in values(EngineStats()) if "spec_decode" in name]


def test_what_static_batches_waste_is_told_where_there_are_any() -> None:
    stats = EngineStats(num_running=3, num_held=2, padding_tokens=40)
    static = msgspec.structs.replace(INFO, batching="static")
    found = values(stats, static)
    assert (found["tokenpace:num_places_held"], found["tokenpace:padding_tokens_total"]) == (2, 40)
    assert found["vllm:num_requests_running"] == 3
    assert not any(name.startswith("tokenpace:") for name in values(stats))
