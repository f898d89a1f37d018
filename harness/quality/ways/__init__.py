"""Ways to the log-probabilities of a given text.

A way is one file of this folder with one subclass of ``Way``; the file's name is the way's. The cheapest that
the server answers is taken.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from scenarios.extensions import extension_class, extension_names

if TYPE_CHECKING:
    from harness.quality.reply import Listed
    from harness.quality.server import AskedServer


class Way(ABC):
    """One way.

    Attributes:
        name: Its file's.
        requests_per_token: What it costs, about.
    """

    name: str = ""
    requests_per_token: ClassVar[float]

    @abstractmethod
    async def score(self, server: AskedServer, token_ids: list[int], num_top: int) -> Listed:
        """The positions of all tokens but the first.

        Args:
            server: Whom to ask.
            token_ids: The text, at least two.
            num_top: How many of the likeliest tokens to list.

        Raises:
            NotGivenError: The server doesn't answer in this way.
            QualityError: It doesn't answer at all, or contradicts itself.
        """


@functools.cache
def ways() -> tuple[Way, ...]:
    """All, the cheapest first.

    Raises:
        LookupError: A file doesn't hold one subclass of the contract.
    """
    found = []
    for name in extension_names(__name__):
        way = extension_class(__name__, name, Way)()  # type: ignore[type-abstract]  # only its subclasses are made
        way.name = name
        found.append(way)
    return tuple(sorted(found, key=lambda way: way.requests_per_token))
