"""How often an answer stood still."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from harness.metrics import NO_TOKEN, NOT_STREAMED, ClientError, Missing, RequestMetric, Unit

if TYPE_CHECKING:
    from harness.record import Record
    from harness.terms import Terms

_NO_LIMIT = Missing("no stall limit is stated; give stall_limit: 1s")


class Stalls(RequestMetric):
    """The number of a request's ``chunk_gap`` longer than the scenario's ``stall_limit``.

    ``p99 <= 0`` says that at most 1 % of the requests have a stall.

    Args:
        limit_ns: The limit; None where none is stated: then there is no value.
    """

    unit = Unit.STALLS
    needs_stream = True
    client_error = ClientError.NONE

    def __init__(self, limit_ns: int | None = None) -> None:
        self._limit_ns = limit_ns

    def under(self, terms: Terms) -> Self:
        """The metric with the limit of these terms."""
        return type(self)(terms.stall_limit_ns)

    def exists_under(self, terms: Terms) -> bool:
        """Where a limit is stated."""
        return terms.stall_limit_ns is not None

    def value(self, record: Record, start_ns: int) -> float | Missing:
        """A whole number; 0 for an answer of one chunk, which has no gap."""
        del start_ns
        if not record.streamed:
            return NOT_STREAMED
        if self._limit_ns is None:
            return _NO_LIMIT
        if not record.chunk_ns:
            return NO_TOKEN
        return float(np.count_nonzero(record.gaps_ns > self._limit_ns))
