"""The same state under the names of llama.cpp's server, for dashboards that compare the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.engine.request import EngineStats


def collect_llamacpp(stats: EngineStats) -> Iterator[Metric]:
    """Counters and gauges without labels; never NaN."""
    busy = stats.generation_tokens / stats.num_steps if stats.num_steps else 0.0
    counters: dict[str, tuple[str, float]] = {
        "prompt_tokens": ("Prompt tokens computed.", stats.prompt_tokens - stats.prompt_tokens_cached),
        "prompt_tokens_cached": ("Prompt tokens from the prefix cache.", stats.prompt_tokens_cached),
        "tokens_predicted": ("Tokens generated.", stats.generation_tokens),
        "n_decode": ("Engine steps.", stats.num_steps),
    }
    gauges: dict[str, tuple[str, float]] = {
        "requests_processing": ("Sequences in the running batch.", stats.num_running),
        "requests_deferred": ("Sequences waiting to be scheduled.", stats.num_waiting),
        "n_busy_slots_per_decode": ("Tokens generated per step, mean.", busy),
    }
    for name, (documentation, value) in counters.items():
        yield CounterMetricFamily(f"llamacpp:{name}", documentation, value=max(0, value))
    for name, (documentation, value) in gauges.items():
        yield GaugeMetricFamily(f"llamacpp:{name}", documentation, value=max(0, value))
