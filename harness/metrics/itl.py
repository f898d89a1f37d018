"""Time between tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.metrics import ClientError, Missing, TokenMetric, Unit, Values
from harness.metrics.chunk_gap import ChunkGap

if TYPE_CHECKING:
    from harness.record import Record

_CHUNK_GAP = ChunkGap()


class InterTokenLatency(TokenMetric):
    """A chunk's gap shared out among its k tokens: ``chunk_gap / k``, k times."""

    unit = Unit.NS
    needs_stream = True
    client_error = ClientError.INTERVAL

    def values(self, record: Record, start_ns: int) -> Values | Missing:
        """In ns, as many as there are tokens after the first chunk."""
        chunk_gaps = _CHUNK_GAP.values(record, start_ns)
        if isinstance(chunk_gaps, Missing) or max(record.chunk_tokens) <= 1:
            return chunk_gaps
        tokens = np.maximum(np.array(record.chunk_tokens[1:], np.int64), 1)
        return np.repeat(np.asarray(chunk_gaps) / tokens, tokens)
