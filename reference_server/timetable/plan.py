"""The plan of one answer: the script with all chance drawn, repeatable by seed and request index."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

from reference_server.timetable.faults import AFTER_TOKENS, SILENT, FaultName, choose_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.timetable.script import Distribution, Script

DEFAULT_TOKENS = 64
_SEED_STRIDE = 1 << 40


class Plan:
    """What happens to one request.

    Args:
        script: The options that hold for it.
        seed: The server's.
        index: Of the request, in order of arrival.
        max_tokens: The request's limit, None without one.

    Attributes:
        fault: What goes wrong, None if nothing does.
        ttft_ns: From the start of service to the first token.
        num_tokens: Tokens to send, were there no fault.
        num_sent: Tokens that will be sent, a fault reckoned with.
        num_thoughts: Of these, the ones thought before the answer.
        ends_well: All tokens are sent, then what belongs after them.
        ends_silently: Nothing more is sent after the last token, not even the end of the body.
        finish_reason: ``length`` when the request's limit ends the answer.
        text_offset: Where in the vocabulary its words begin.
    """

    def __init__(self, script: Script, seed: int, index: int, max_tokens: int | None) -> None:
        self._script = script
        self._random = random.Random(seed * _SEED_STRIDE + index)
        self.fault: FaultName | None = choose_fault(script.faults, self._random.random())
        in_tail = self._random.random() < script.tail_share
        self.text_offset = self._random.getrandbits(16)
        ttft_ns = self._draw(script.ttft_distribution, script.ttft)
        self.ttft_ns = round(ttft_ns * script.tail_factor) if in_tail else ttft_ns
        wanted = script.tokens if script.tokens is not None else max_tokens
        self.num_tokens = _limited(DEFAULT_TOKENS if wanted is None else wanted, max_tokens)
        self.ends_well = self.fault not in AFTER_TOKENS
        self.ends_silently = self.fault in SILENT
        self.num_sent = self.num_tokens if self.ends_well else min(self.num_tokens, script.fault_after)
        self.num_thoughts = min(script.reasoning_tokens, self.num_sent)
        self.finish_reason = self._finish_reason(max_tokens)

    @property
    def headers_delay_ns(self) -> int:
        """How long the response head is held back."""
        script = self._script
        return script.fault_delay if self.fault == "slow_headers" else script.headers_delay

    @property
    def closes(self) -> bool:
        """True if the connection ends with the answer."""
        return self._script.close or self.fault == "close"

    def offsets_ns(self) -> Iterator[int]:
        """When each token-bearing event is due, from the start of service. Endless; ask once."""
        script, due_ns = self._script, self.ttft_ns
        while True:
            yield due_ns
            due_ns += self._draw(script.gap_distribution, script.gap)

    def sizes(self) -> Iterator[int]:
        """Tokens in each event sent; no event holds both a thought and the answer."""
        for part in (self.num_thoughts, self.num_sent - self.num_thoughts):
            full, rest = divmod(part, self._script.tokens_per_chunk)
            for _ in range(full):
                yield self._script.tokens_per_chunk
            if rest:
                yield rest

    def _draw(self, distribution: Distribution, mean_ns: int) -> int:
        if distribution == "constant" or mean_ns == 0:
            return int(mean_ns)
        if distribution == "exponential":
            return round(self._random.expovariate(1 / mean_ns))
        sigma = self._script.sigma
        return round(self._random.lognormvariate(math.log(mean_ns) - sigma * sigma / 2, sigma))

    def _finish_reason(self, max_tokens: int | None) -> str:
        if self.num_tokens == max_tokens:
            return "length"
        return "tool_calls" if self._script.answer == "tool_call" else "stop"


def _limited(wanted: int, max_tokens: int | None) -> int:
    return wanted if max_tokens is None else min(wanted, max_tokens)
