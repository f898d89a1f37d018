"""Keys and values are forgotten: each token computes the whole sequence again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.kv_cache import KvCache

if TYPE_CHECKING:
    from reference_server.engine.sequence import Sequence


class Forgotten(KvCache):
    """A model without a cache: an answer of n tokens to a prompt of p computes n p + n (n - 1) / 2 tokens.

    A sequence keeps its blocks as the place where the next computation works; one that takes several steps
    keeps there what it has so far.
    """

    keeps = False

    def after_token(self, sequence: Sequence) -> None:
        """Nothing of it counts as computed."""
        sequence.num_computed_tokens = 0


KV_CACHE = Forgotten
