"""What all servers' metrics come down to."""

from __future__ import annotations

import msgspec


class Distribution(msgspec.Struct, frozen=True, omit_defaults=True):
    """A server's histogram of seconds, all its label sets together. It only grows.

    Attributes:
        count: Number of samples.
        sum_s: Their sum.
        buckets: (upper edge in seconds, samples up to it), ascending; the last one without an edge left out.
            Empty where they were not read.
    """

    count: float
    sum_s: float
    buckets: tuple[tuple[float, float], ...] = ()


class Figures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A server at one instant. None where it doesn't say.

    Attributes:
        running: Requests in service, all engines together.
        waiting: Requests in the queue, likewise.
        kv_usage: Share of the KV cache in use, 0 to 1, of the fullest engine.
        prompt_tokens: Prompt tokens since the server's start, those from the prefix cache included.
        generation_tokens: Tokens generated since then.
        preemptions: Requests that had to make room since then.
        prefix_cache_queries: Looked up in the prefix cache since then, in tokens or blocks.
        prefix_cache_hits: Found there, in the same unit.
        ttft: From the arrival of a request to its first token.
        queue_time: From the arrival of a request to its first step.
        itl: Between two tokens of a request.
    """

    running: float | None = None
    waiting: float | None = None
    kv_usage: float | None = None
    prompt_tokens: float | None = None
    generation_tokens: float | None = None
    preemptions: float | None = None
    prefix_cache_queries: float | None = None
    prefix_cache_hits: float | None = None
    ttft: Distribution | None = None
    queue_time: Distribution | None = None
    itl: Distribution | None = None

    @property
    def num_known(self) -> int:
        """How many of them the server says."""
        return sum(getattr(self, name) is not None for name in self.__struct_fields__)
