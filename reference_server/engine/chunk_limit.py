"""How much of long prompts a step takes along without stalling those that stream."""

from __future__ import annotations

import statistics
from collections import deque

MAX_SLOWDOWN = 2.4
"""So many times as long as a step of decoding alone may a step be for a long prompt's sake."""

MIN_TOKENS = 8
"""A long prompt gets on by so many tokens, whatever they cost."""

_FIRST_TOKENS = 32
_MAX_CHANGE = 2.0
_NUM_REMEMBERED = 15


class ChunkLimit:
    """Learns from how long steps take, as that depends on machine, model and context.

    Args:
        max_tokens: The limit's limit, the budget of a step.
    """

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens
        self._tokens = float(min(_FIRST_TOKENS, max_tokens))
        self._decoding: dict[int, deque[int]] = {}

    def tokens(self, num_decodes: int) -> int:
        """Tokens of long prompts in a step beside so many that decode: all, until decoding was seen."""
        return self._max_tokens if self._decoding_ns(num_decodes) is None else int(self._tokens)

    def observe(self, num_decodes: int, num_prefill_tokens: int, duration_ns: int) -> None:
        """Take note of a step."""
        if not num_decodes:
            return
        if num_prefill_tokens:
            self._adapt(num_decodes, num_prefill_tokens, duration_ns)
        else:
            key = num_decodes.bit_length()
            self._decoding.setdefault(key, deque(maxlen=_NUM_REMEMBERED)).append(duration_ns)

    def _adapt(self, num_decodes: int, num_tokens: int, duration_ns: int) -> None:
        """Go towards the number of tokens that would have taken just the time allowed, had all cost the same.

        Part of a chunk's cost doesn't depend on its length; by repetition the right length is found even so.
        """
        decoding_ns = self._decoding_ns(num_decodes)
        if decoding_ns is None or num_tokens < self._tokens / 2:
            return
        allowed, taken = (MAX_SLOWDOWN - 1) * decoding_ns, max(1.0, duration_ns - decoding_ns)
        lowest, highest = self._tokens / _MAX_CHANGE, self._tokens * _MAX_CHANGE
        wanted = min(max(num_tokens * allowed / taken, lowest), highest)
        self._tokens = min(max(wanted, MIN_TOKENS), self._max_tokens)

    def _decoding_ns(self, num_decodes: int) -> float | None:
        """What a step of decoding takes: the median of the last of about as many sequences, or of fewer."""
        key = num_decodes.bit_length()
        seen = [known for known in self._decoding if known <= key]
        return statistics.median(self._decoding[max(seen)]) if seen else None
