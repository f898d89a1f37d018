"""Counts that add up, wherever they were made."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def counts_of(holder: object, names: Iterable[str]) -> dict[str, int]:
    """The integers that these attributes hold, by name."""
    return {name.lstrip("_"): getattr(holder, name) for name in names}


def add_counts(holder: object, names: Iterable[str], counts: Mapping[str, int]) -> None:
    """Add what ``counts_of`` gave for another holder."""
    for name in names:
        setattr(holder, name, getattr(holder, name) + counts[name.lstrip("_")])


class Counting:
    """Base of what counts requests in plain integers and nothing else.

    Two that saw a part of the requests each, put together, know what one would that saw them all.

    Attributes:
        counted: Names of the attributes that hold the counts.
    """

    counted: ClassVar[tuple[str, ...]]

    def state(self) -> dict[str, int]:
        """The counts so far, as a value that can be sent to another process."""
        return counts_of(self, self.counted)

    def merge(self, other: Mapping[str, int]) -> None:
        """Add the state of another."""
        add_counts(self, self.counted, other)
