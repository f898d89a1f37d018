"""The order in which a list of prompts is gone through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.random import Generator

T = TypeVar("T")

Order = Literal["sequential", "random"]
"""``sequential``: as listed. ``random``: shuffled anew for each round, so that each is used equally often."""


def in_order(items: Sequence[T], order: Order, repeat: bool, rng: Generator) -> Iterator[T]:
    """One round of ``items``, or endless rounds."""
    while True:
        places = rng.permutation(len(items)) if order == "random" else range(len(items))
        yield from (items[place] for place in places)
        if not repeat:
            return
