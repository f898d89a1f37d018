"""Hugging Face's text-generation-inference. It has no TTFT and doesn't tell the use of its KV cache."""

from __future__ import annotations

from harness.telemetry.dialects import Dialect


class Tgi(Dialect):
    """Tokens are sums of histograms over requests: of prompts when validated, of answers when complete."""

    prefix = "tgi_"
    running = ("batch_current_size",)
    waiting = ("queue_size",)
    prompt_tokens = ("request_input_length_sum",)
    generation_tokens = ("request_generated_tokens_sum",)
    queue_time = ("request_queue_duration",)
