"""Memory for the longest sequence there can be, for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.kv_allocation import KvAllocation

if TYPE_CHECKING:
    from reference_server.engine.sequence import Sequence


class Contiguous(KvAllocation):
    """Serving before paged attention: one piece of ``max_model_len`` tokens, whatever the request will need.

    Only who may join changes, so blocks are what is counted; that they need not lie side by side costs and
    gains nothing. Pieces can't be shared, so there is no prefix cache; none grows, so nobody is preempted.
    """

    reserves_output = True
    shares_blocks = False

    def num_tokens(self, sequence: Sequence, max_model_len: int) -> int:
        """See :class:`KvAllocation`."""
        del sequence
        return max_model_len


KV_ALLOCATION = Contiguous
