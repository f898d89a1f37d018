"""How much of the KV pool a sequence is given when it joins.

A way is a file here, whose name is its name in the configuration, with a class ``KV_ALLOCATION`` that extends
:class:`KvAllocation`. Plain Python, without torch or numpy.
"""

from __future__ import annotations

import abc
import sys
from typing import TYPE_CHECKING

from reference_server.extensions import load_extension

if TYPE_CHECKING:
    from reference_server.engine.sequence import Sequence


class KvAllocation(abc.ABC):
    """Decides what is reserved.

    Attributes:
        reserves_output: Whether that is all a sequence can ever need, so that none ever grows.
        shares_blocks: Whether sequences that begin alike may hold the same blocks.
    """

    reserves_output: bool
    shares_blocks: bool

    @abc.abstractmethod
    def num_tokens(self, sequence: Sequence, max_model_len: int) -> int:
        """For how many tokens a sequence gets blocks when it joins: the known ones at least."""


def kv_allocation(name: str) -> KvAllocation:
    """The way of a name.

    Raises:
        KeyError: There is none of this name.
    """
    return load_extension(sys.modules[__name__], name).KV_ALLOCATION()  # type: ignore[no-any-return]  # found by name: untyped
