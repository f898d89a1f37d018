"""When the tokens of a request arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.record import IntArray

if TYPE_CHECKING:
    from harness.record import Record

__all__ = ["IntArray", "token_arrivals"]


def token_arrivals(record: Record) -> tuple[IntArray, IntArray]:
    """Instants in ns and the number of tokens that arrived at each; together exactly ``output_tokens``.

    Where the chunks' own counts add up to something else (one chunk held several tokens, or some tokens had
    no text), ``output_tokens`` are shared out among the chunks in proportion. An answer in one piece arrives
    when it is done.
    """
    if not record.output_tokens:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if not record.chunk_ns:
        return np.array([record.done_ns], np.int64), np.array([record.output_tokens], np.int64)
    at_ns, tokens = record.arrivals_ns, np.array(record.chunk_tokens, np.int64)
    if (total := int(tokens.sum())) == record.output_tokens:
        return at_ns, tokens
    running = np.cumsum(tokens) * record.output_tokens // max(1, total)
    return at_ns, np.diff(running, prepend=0)
