"""The engine's own state under vLLM's names, read from its latest report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.engine.request import EngineInfo, EngineStats

OWN = "tokenpace"
"""Prefix of what vLLM has no name for."""


def collect_engine(labels: dict[str, str], info: EngineInfo, stats: EngineStats) -> Iterator[Metric]:
    """Gauges and counters of an engine. None can be negative or leave its range."""
    used = max(0, stats.num_blocks - stats.num_free_blocks) / max(1, stats.num_blocks)
    waiting = max(0, stats.num_waiting)
    yield _gauge("num_requests_running", "Sequences in the running batch.", labels, max(0, stats.num_running))
    yield _gauge("num_requests_waiting", "Sequences waiting to be scheduled.", labels, waiting)
    reason = {**labels, "reason": "capacity"}
    yield _gauge("num_requests_waiting_by_reason", "Waiting sequences by reason.", reason, waiting)
    yield _gauge("kv_cache_usage_perc", "Share of KV blocks in use, 0 to 1.", labels, min(1.0, used))
    yield _gauge("gpu_cache_usage_perc", "The old name of kv_cache_usage_perc.", labels, min(1.0, used))
    yield _counter("num_preemptions", "Preemptions of running sequences.", labels, stats.num_preemptions)
    yield _counter("prompt_tokens", "Prompt tokens processed.", labels, stats.prompt_tokens)
    yield _counter("generation_tokens", "Tokens generated.", labels, stats.generation_tokens)
    yield _prompt_tokens_by_source(labels, stats)
    yield from _prefix_cache(labels, stats)
    if stats.num_accepted_per_pos:
        yield from _speculation(labels, stats)
    if info.batching == "static":
        yield from _static_batching(labels, stats)
    yield _cache_config(labels, info)


def _prefix_cache(labels: dict[str, str], stats: EngineStats) -> Iterator[Metric]:
    yield _counter("prefix_cache_queries", "Prompt tokens looked up.", labels, stats.prefix_cache_queries)
    yield _counter("prefix_cache_hits", "Prompt tokens found.", labels, stats.prefix_cache_hits)
    yield _counter("prompt_tokens_cached", "Prompt tokens not computed.", labels, stats.prompt_tokens_cached)


def _speculation(labels: dict[str, str], stats: EngineStats) -> Iterator[Metric]:
    accepted = stats.num_accepted_per_pos
    yield _counter("spec_decode_num_drafts", "Drafts verified.", labels, stats.num_drafts)
    yield _counter("spec_decode_num_draft_tokens", "Tokens of drafts.", labels, stats.num_draft_tokens)
    yield _counter("spec_decode_num_accepted_tokens", "Of them, those accepted.", labels, sum(accepted))
    family = CounterMetricFamily(
        "vllm:spec_decode_num_accepted_tokens_per_pos",
        "Accepted tokens by their place in the draft.",
        labels=[*labels, "position"],
    )
    for position, count in enumerate(accepted):
        family.add_metric([*labels.values(), str(position)], count)
    yield family


def _static_batching(labels: dict[str, str], stats: EngineStats) -> Iterator[Metric]:
    yield _gauge("num_places_held", "Places of ended sequences in the batch.", labels, stats.num_held, OWN)
    yield _counter("padding_tokens", "Tokens computed for nobody.", labels, stats.padding_tokens, OWN)


def _prompt_tokens_by_source(labels: dict[str, str], stats: EngineStats) -> Metric:
    family = CounterMetricFamily(
        "vllm:prompt_tokens_by_source", "Prompt tokens by where they came from.", labels=[*labels, "source"]
    )
    cached = stats.prompt_tokens_cached
    for source, count in (("local_compute", stats.prompt_tokens - cached), ("local_cache_hit", cached)):
        family.add_metric([*labels.values(), source], max(0, count))
    return family


def _cache_config(labels: dict[str, str], info: EngineInfo) -> Metric:
    settings = {
        "block_size": str(info.block_size),
        "num_gpu_blocks": str(info.num_blocks),
        "cache_dtype": info.dtype,
        "enable_prefix_caching": str(info.enable_prefix_caching),
        "kv_allocation": info.kv_allocation,
        "kv_cache": info.kv_cache,
        "kv_cache_size_tokens": str(info.num_blocks * info.block_size),
    }
    return _gauge("cache_config_info", "Settings of the KV cache.", {**labels, **settings}, 1)


def _gauge(
    name: str, documentation: str, labels: dict[str, str], value: float, prefix: str = "vllm"
) -> Metric:
    family = GaugeMetricFamily(f"{prefix}:{name}", documentation, labels=list(labels))
    family.add_metric(list(labels.values()), value)
    return family


def _counter(
    name: str, documentation: str, labels: dict[str, str], value: float, prefix: str = "vllm"
) -> Metric:
    family = CounterMetricFamily(f"{prefix}:{name}", documentation, labels=list(labels))
    family.add_metric(list(labels.values()), max(0, value))
    return family
