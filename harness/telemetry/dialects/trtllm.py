"""TensorRT-LLM's ``trtllm-serve`` with ``return_perf_metrics``; its ``/metrics`` is JSON, not this."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.telemetry.dialects import Dialect

if TYPE_CHECKING:
    from harness.telemetry.exposition import Exposition


class TrtLlm(Dialect):
    """The prefix cache is counted in blocks: reused and missed ones."""

    prefix = "trtllm_"
    path = "/prometheus/metrics"
    running = ("num_requests_running",)
    waiting = ("num_requests_waiting",)
    kv_usage = ("kv_cache_utilization",)
    prompt_tokens = ("prompt_tokens_total",)
    generation_tokens = ("generation_tokens_total",)
    prefix_cache_hits = ("kv_cache_reused_blocks_total",)
    ttft = ("time_to_first_token_seconds",)
    queue_time = ("request_queue_time_seconds",)
    extra = ("kv_cache_missed_blocks_total",)

    def cache_queries(self, page: Exposition) -> float | None:
        """Blocks looked up."""
        hits, misses = self.cache_hits(page), self.total(page, self.extra)
        return None if hits is None or misses is None else hits + misses
