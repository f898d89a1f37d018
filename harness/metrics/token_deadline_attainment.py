"""The share of an answer's tokens that a reader had in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from harness.metrics import NO_TOKEN, NOT_STREAMED, UNKNOWN_OUTPUT, ClientError, Missing, RequestMetric, Unit
from harness.summary.token_arrivals import token_arrivals

if TYPE_CHECKING:
    from harness.record import Record
    from harness.terms import Terms
    from scenarios.token_deadlines import TokenDeadlines

_NO_DEADLINES = Missing("no token deadlines are stated; give token_deadlines: {ttft: 500ms, tpot: 100ms}")


class TokenDeadlineAttainment(RequestMetric):
    """Tokens that came no later than ``ttft + i x tpot`` after the start, by those that came; i from 0.

    Where the times of single tokens aren't known they are shared out among the chunks, and the tokens of a
    chunk came when it came. Source: the fluidity index of Agrawal et al. 2024 (Etalon), without its setting
    back of the deadlines after a miss.

    Args:
        deadlines: Of the scenario; None where it states none: then there is no value.
    """

    unit = Unit.SHARE
    has_bases = True
    needs_stream = True
    needs_deadlines = True
    client_error = ClientError.NONE

    def __init__(self, deadlines: TokenDeadlines | None = None) -> None:
        self._deadlines = deadlines

    def under(self, terms: Terms) -> Self:
        """The metric by the deadlines of these terms."""
        return type(self)(terms.token_deadlines)

    def value(self, record: Record, start_ns: int) -> float | Missing:
        """From 0 to 1."""
        if not record.streamed:
            return NOT_STREAMED
        if self._deadlines is None:
            return _NO_DEADLINES
        if not record.chunk_ns:
            return NO_TOKEN
        if not record.output_tokens:
            return UNKNOWN_OUTPUT
        at_ns, tokens = token_arrivals(record)
        late_ns = np.maximum(at_ns - start_ns - self._deadlines.ttft, 0)
        first_in_time = -(-late_ns // self._deadlines.tpot)
        before = np.cumsum(tokens) - tokens
        num_late = np.clip(first_in_time - before, 0, tokens).sum()
        return 1.0 - float(num_late) / record.output_tokens
