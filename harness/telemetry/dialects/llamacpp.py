"""llama.cpp's ``llama-server --metrics``. It has no histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.telemetry.dialects import Dialect

if TYPE_CHECKING:
    from harness.telemetry.exposition import Exposition


class LlamaCpp(Dialect):
    """Prompt tokens that were computed and those from the cache are counted apart.

    Releases that don't count the latter don't tell how many prompt tokens there were.
    """

    prefix = "llamacpp:"
    running = ("requests_processing",)
    waiting = ("requests_deferred",)
    kv_usage = ("kv_cache_usage_ratio",)
    prompt_tokens = ("prompt_tokens_total",)
    generation_tokens = ("tokens_predicted_total",)
    prefix_cache_hits = ("prompt_tokens_cached_total",)

    def prompt_token_count(self, page: Exposition) -> float | None:
        """Computed and cached ones."""
        computed, cached = self.total(page, self.prompt_tokens), self.cache_hits(page)
        return None if computed is None or cached is None else computed + cached

    def cache_queries(self, page: Exposition) -> float | None:
        """Every prompt token is looked up."""
        return self.prompt_token_count(page)
