"""Histograms and counters over requests, under vLLM's names."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, Metric

from reference_server.api import buckets
from reference_server.api.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.api.choice import Choice
    from reference_server.api.timing import Timing

FINISH_REASONS = ("stop", "length", "abort", "error")


class RequestMetrics:
    """What finished and running sequences add up to.

    Args:
        max_model_len: Upper end of the token-count histograms.
    """

    def __init__(self, max_model_len: int) -> None:
        counts = buckets.one_two_five(max_model_len)
        gaps, seconds = buckets.TOKEN_GAP_S, buckets.REQUEST_S
        self._time_to_first_token = _histogram("time_to_first_token_seconds", buckets.TTFT_S)
        self._inter_token_latency = _histogram("inter_token_latency_seconds", gaps)
        self._time_per_output_token = [
            _histogram("request_time_per_output_token_seconds", gaps),
            _histogram("time_per_output_token_seconds", gaps),  # the old name
        ]
        self._e2e = _histogram("e2e_request_latency_seconds", seconds)
        self._queue = _histogram("request_queue_time_seconds", seconds)
        self._inference = _histogram("request_inference_time_seconds", seconds)
        self._prefill = _histogram("request_prefill_time_seconds", seconds)
        self._decode = _histogram("request_decode_time_seconds", seconds)
        self._prompt_tokens = _histogram("request_prompt_tokens", counts)
        self._generation_tokens = _histogram("request_generation_tokens", counts)
        self._max_generation_tokens = _histogram("request_max_num_generation_tokens", counts)
        self._prefill_tokens = _histogram("request_prefill_kv_computed_tokens", counts)
        self._preemptions = _histogram("request_num_preemptions", buckets.PREEMPTIONS)
        self._params_n = _histogram("request_params_n", buckets.CHOICES)
        self._params_max_tokens = _histogram("request_params_max_tokens", counts)
        self._step_tokens = _histogram("iteration_tokens_total", buckets.STEP_TOKENS)
        self._finished: Counter[str] = Counter(dict.fromkeys(FINISH_REASONS, 0))

    def on_request(self, num_choices: int, max_tokens: int) -> None:
        """A request was taken in."""
        self._params_n.observe(num_choices)
        self._params_max_tokens.observe(max_tokens)

    def on_step(self, step_tokens: int) -> None:
        """The engine made a step over so many tokens."""
        self._step_tokens.observe(step_tokens)

    def on_first_token(self, timing: Timing) -> None:
        """A sequence has its first token."""
        self._time_to_first_token.observe((timing.first_output_ns - timing.arrival_ns) / 1e9)

    def on_tokens(self, gap_ns: int, num_tokens: int) -> None:
        """So many tokens of one sequence came together, ``gap_ns`` after those before."""
        self._inter_token_latency.observe(gap_ns / num_tokens / 1e9, num_tokens)

    def on_finish(self, choice: Choice) -> None:
        """A sequence has ended; one that never began adds no times."""
        reason = choice.finish_reason or "abort"
        self._finished[reason if reason in FINISH_REASONS else "error"] += 1
        if not choice.timing.first_output_ns:
            return
        self._observe_times(choice.timing)
        num_prompt_tokens = len(choice.request.prompt_token_ids)
        self._prompt_tokens.observe(num_prompt_tokens)
        self._prefill_tokens.observe(max(0, num_prompt_tokens - choice.num_cached_tokens))
        self._generation_tokens.observe(choice.num_tokens)
        self._max_generation_tokens.observe(choice.request.sampling.max_tokens)
        self._preemptions.observe(choice.num_preemptions)

    def collect(self, labels: dict[str, str]) -> Iterator[Metric]:
        """All of it, for Prometheus."""
        for value in vars(self).values():
            for histogram in value if isinstance(value, list) else [value]:
                if isinstance(histogram, Histogram):
                    yield histogram.family(labels)
        yield self._finished_family(labels)

    def _observe_times(self, timing: Timing) -> None:
        self._e2e.observe(timing.e2e_ns / 1e9)
        self._queue.observe(timing.queue_ns / 1e9)
        self._inference.observe(timing.inference_ns / 1e9)
        self._prefill.observe(timing.prefill_ns / 1e9)
        self._decode.observe(timing.decode_ns / 1e9)
        if (tpot_ns := timing.tpot_ns) is not None:
            for histogram in self._time_per_output_token:
                histogram.observe(tpot_ns / 1e9)

    def _finished_family(self, labels: dict[str, str]) -> Metric:
        family = CounterMetricFamily(
            "vllm:request_success", "Finished sequences by reason.", labels=[*labels, "finished_reason"]
        )
        for reason, count in self._finished.items():
            family.add_metric([*labels.values(), reason], count)
        return family


_DOCUMENTATION = {
    "time_to_first_token_seconds": "Arrival of a request to its first token.",
    "inter_token_latency_seconds": "Time between tokens of one sequence.",
    "request_time_per_output_token_seconds": "Mean time of a token after the first, per sequence.",
    "time_per_output_token_seconds": "The old name of request_time_per_output_token_seconds.",
    "e2e_request_latency_seconds": "Arrival of a request to its last token.",
    "request_queue_time_seconds": "Arrival of a request to its first scheduling.",
    "request_inference_time_seconds": "First scheduling to the last token.",
    "request_prefill_time_seconds": "First scheduling to the first token.",
    "request_decode_time_seconds": "First token to the last.",
    "request_prompt_tokens": "Prompt tokens per sequence.",
    "request_generation_tokens": "Output tokens per sequence.",
    "request_max_num_generation_tokens": "Output tokens allowed per sequence.",
    "request_prefill_kv_computed_tokens": "Prompt tokens computed per sequence, without cached ones.",
    "request_num_preemptions": "Preemptions per sequence.",
    "request_params_n": "Choices asked for per request.",
    "request_params_max_tokens": "max_tokens per request.",
    "iteration_tokens_total": "Tokens computed per engine step.",
}


def _histogram(name: str, edges: tuple[float, ...] | list[int]) -> Histogram:
    return Histogram(f"vllm:{name}", _DOCUMENTATION[name], edges)
