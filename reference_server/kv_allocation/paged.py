"""Blocks as they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.kv_allocation import KvAllocation

if TYPE_CHECKING:
    from reference_server.engine.sequence import Sequence


class Paged(KvAllocation):
    """Blocks for the tokens there are, so that no prefill waits for memory in the middle; output adds more.

    What answers don't use is never taken; when too many grow at once, the last in order is preempted.
    """

    reserves_output = False
    shares_blocks = True

    def num_tokens(self, sequence: Sequence, max_model_len: int) -> int:
        """See :class:`KvAllocation`."""
        del max_model_len
        return sequence.num_tokens


KV_ALLOCATION = Paged
