"""SGLang with ``--enable-metrics``. It renews its gauges every few dozen steps only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.telemetry.dialects import Dialect, Names

if TYPE_CHECKING:
    from harness.telemetry.exposition import Exposition


class SgLang(Dialect):
    """Ranks of one data-parallel group tell the same; priorities and cache sources also come summed up."""

    prefix = "sglang:"
    running = ("num_running_reqs",)
    waiting = ("num_queue_reqs",)
    kv_usage = ("token_usage",)
    prompt_tokens = ("prompt_tokens_total",)
    generation_tokens = ("generation_tokens_total",)
    preemptions = ("num_retracted_requests_total",)
    prefix_cache_queries = ("prompt_tokens_total",)
    prefix_cache_hits = ("cached_tokens_total",)
    ttft = ("time_to_first_token_seconds",)
    queue_time = ("queue_time_seconds",)
    itl = ("inter_token_latency_seconds",)

    def gauge(self, page: Exposition, names: Names) -> float | None:
        """The sum over data-parallel groups, of which each rank tells the whole."""
        groups: dict[str, float] = {}
        for sample in self.samples(page, names):
            if not sample.labels.get("priority"):
                group = sample.labels.get("dp_rank", "")
                groups[group] = max(groups.get(group, 0.0), sample.value)
        return sum(groups.values()) if groups else None

    def cache_hits(self, page: Exposition) -> float | None:
        """The total over all sources where it is there, else their sum."""
        found = self.samples(page, self.prefix_cache_hits)
        whole = [sample for sample in found if sample.labels.get("cache_source") == "total"]
        return sum(sample.value for sample in whole or found) if found else None
