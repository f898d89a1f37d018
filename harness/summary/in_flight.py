"""How many requests were in flight."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.summary.token_arrivals import IntArray


def peaks_in_flight(sent_ns: Sequence[int], done_ns: Sequence[int], edges_ns: IntArray) -> IntArray:
    """The largest number of requests in flight between one edge and the next.

    A request is in flight from ``sent_ns`` up to, and not at, ``done_ns``; the order of requests is free.

    Args:
        sent_ns: One instant a request.
        done_ns: One instant a request.
        edges_ns: Ascending, one more than there are results.
    """
    at_ns = np.concatenate([np.array(sent_ns, np.int64), np.array(done_ns, np.int64)])
    steps = np.repeat([1, -1], [len(sent_ns), len(done_ns)])
    order = np.lexsort((steps, at_ns))
    level = np.concatenate([[0], np.cumsum(steps[order])])
    places = np.searchsorted(at_ns[order], edges_ns)
    return np.array([level[first : last + 1].max() for first, last in pairwise(places)], np.int64)


def in_flight_at(sent_ns: IntArray, done_ns: IntArray, at_ns: IntArray) -> IntArray:
    """How many requests were in flight at each instant, in flight being as in ``peaks_in_flight``."""
    begun = np.searchsorted(np.sort(sent_ns), at_ns, side="right")
    return np.asarray(begun - np.searchsorted(np.sort(done_ns), at_ns, side="right"), np.int64)
