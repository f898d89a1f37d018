"""Time between tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.metrics import NOT_STREAMED, ONE_CHUNK, Missing, TokenMetric, Unit, Values, gaps

if TYPE_CHECKING:
    from harness.record import Record


class InterTokenLatency(TokenMetric):
    """A chunk's gap shared out among its k tokens: ``chunk_gap / k``, k times."""

    unit = Unit.NS
    needs_stream = True

    def values(self, record: Record, start_ns: int) -> Values | Missing:
        """In ns, as many as there are tokens after the first chunk."""
        del start_ns
        if not record.streamed:
            return NOT_STREAMED
        if len(record.chunk_ns) < 2:
            return ONE_CHUNK
        chunk_gaps = gaps(record.chunk_ns)
        if max(record.chunk_tokens) <= 1:
            return chunk_gaps
        tokens = np.maximum(np.array(record.chunk_tokens[1:], np.int64), 1)
        return np.repeat(chunk_gaps / tokens, tokens)
