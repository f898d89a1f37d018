"""How servers are asked for the tokens of a text.

A dialect is one file of this folder with one subclass of ``TokenizeCall``. Dialects are tried in the order of
their names; the first whose reply makes sense is the server's.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from scenarios.extensions import extension_class, extension_names


class TokenizeCall(ABC):
    """One dialect.

    Attributes:
        servers: Who speaks it, for messages.
        path: At the server's root, or beside the endpoints.
        counts_special: Whether tokens that begin or end a text are counted too; then those of no text are
            taken off.
    """

    servers: ClassVar[str]
    path: ClassVar[str]
    counts_special: ClassVar[bool] = False

    @abstractmethod
    def body(self, text: str, model: str) -> dict[str, Any]:
        """What is sent, as JSON."""

    @abstractmethod
    def count(self, reply: bytes) -> int:
        """Number of tokens in the reply.

        Raises:
            msgspec.MsgspecError: It is no such reply.
        """


@functools.cache
def tokenize_calls() -> tuple[TokenizeCall, ...]:
    """All dialects, by name.

    Raises:
        LookupError: A file doesn't hold one subclass of the contract.
    """
    classes = (
        extension_class(__name__, name, TokenizeCall)  # type: ignore[type-abstract]  # only its subclasses are made
        for name in extension_names(__name__)
    )
    return tuple(each() for each in classes)
