"""What becomes of keys and values once a token is chosen.

A way is a file here, whose name is its name in the configuration, with a class ``KV_CACHE`` that extends
:class:`KvCache`. Plain Python, without torch or numpy.
"""

from __future__ import annotations

import abc
import sys
from typing import TYPE_CHECKING

from reference_server.extensions import load_extension

if TYPE_CHECKING:
    from reference_server.engine.sequence import Sequence


class KvCache(abc.ABC):
    """Decides what is kept.

    Attributes:
        keeps: Whether anything computed is still there for the next token.
    """

    keeps: bool

    @abc.abstractmethod
    def after_token(self, sequence: Sequence) -> None:
        """A sequence, whose state is as after a step, has got a token."""


def kv_cache(name: str) -> KvCache:
    """The way of a name.

    Raises:
        KeyError: There is none of this name.
    """
    return load_extension(sys.modules[__name__], name).KV_CACHE()  # type: ignore[no-any-return]  # found by name: untyped
