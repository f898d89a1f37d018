"""vLLM, and the bundled server."""

from __future__ import annotations

from harness.telemetry.dialects import Dialect


class Vllm(Dialect):
    """Names of 0.32 first, then those of earlier releases."""

    prefix = "vllm:"
    running = ("num_requests_running",)
    waiting = ("num_requests_waiting",)
    kv_usage = ("kv_cache_usage_perc", "gpu_cache_usage_perc")
    prompt_tokens = ("prompt_tokens_total",)
    generation_tokens = ("generation_tokens_total",)
    preemptions = ("num_preemptions_total",)
    prefix_cache_queries = ("prefix_cache_queries_total", "gpu_prefix_cache_queries_total")
    prefix_cache_hits = ("prefix_cache_hits_total", "gpu_prefix_cache_hits_total")
    ttft = ("time_to_first_token_seconds",)
    queue_time = ("request_queue_time_seconds",)
    itl = ("inter_token_latency_seconds", "time_per_output_token_seconds")
