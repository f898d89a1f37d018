"""The times of one sequence on the server's monotonic clock, and what is derived from them."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(slots=True)
class Timing:
    """Instants in ns; 0 for what has not happened.

    Attributes:
        arrival_ns: The request was read from the wire.
        scheduled_ns: The engine took the sequence into a step.
        first_token_ns: The engine had its first token.
        first_output_ns: The first token reached the API.
        last_output_ns: The latest token reached the API.
        num_tokens: Tokens so far.
    """

    arrival_ns: int
    scheduled_ns: int = 0
    first_token_ns: int = 0
    first_output_ns: int = 0
    last_output_ns: int = 0
    num_tokens: int = 0

    @property
    def queue_ns(self) -> int:
        """Arrival to scheduling: everything before the engine began with it."""
        return max(0, self.scheduled_ns - self.arrival_ns)

    @property
    def prefill_ns(self) -> int:
        """Scheduling to the engine's first token."""
        return max(0, self.first_token_ns - self.scheduled_ns)

    @property
    def decode_ns(self) -> int:
        """The engine's first token to the last one."""
        return max(0, self.last_output_ns - self.first_token_ns)

    @property
    def inference_ns(self) -> int:
        """Scheduling to the last token."""
        return max(0, self.last_output_ns - self.scheduled_ns)

    @property
    def e2e_ns(self) -> int:
        """Arrival to the last token."""
        return max(0, self.last_output_ns - self.arrival_ns)

    @property
    def tpot_ns(self) -> float | None:
        """Mean time of a token after the first; None for fewer than two."""
        if self.num_tokens < 2:
            return None
        return (self.last_output_ns - self.first_output_ns) / (self.num_tokens - 1)

    def as_metrics(self) -> dict[str, float | None] | None:
        """vLLM's per-request ``metrics`` in ms and tokens per second; None without a token.

        ``time_to_first_token_ms`` counts from scheduling, so queue time + it is what a client waits.
        """
        if not self.first_token_ns:
            return None
        tpot_ns = self.tpot_ns
        return {
            "time_to_first_token_ms": _ms(self.prefill_ns),
            "generation_time_ms": _ms(self.decode_ns),
            "queue_time_ms": _ms(self.queue_ns),
            "mean_itl_ms": None if tpot_ns is None else _ms(tpot_ns),
            "tokens_per_second": self._tokens_per_second(),
        }

    def _tokens_per_second(self) -> float | None:
        return round(self.num_tokens * 1e9 / self.inference_ns, 3) if self.inference_ns else None


def _ms(duration_ns: float) -> float:
    return round(duration_ns / 1e6, 3)
