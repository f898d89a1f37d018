"""Keys and values are kept: a token costs one row of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.kv_cache import KvCache

if TYPE_CHECKING:
    from reference_server.engine.sequence import Sequence


class Kept(KvCache):
    """As every server does it."""

    keeps = True

    def after_token(self, sequence: Sequence) -> None:
        """Nothing to do."""


KV_CACHE = Kept
