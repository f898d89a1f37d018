"""Files of rows and columns, written as they come: memory doesn't grow with the number of rows.

A format is one file of this folder, and the file's name is the format's name. It has

``SUFFIX: str``
    of the file's name, with the dot,
``write(path: Path, columns: Sequence[Column], rows: Iterable[Row], facts: Mapping[str, str]) -> int``
    write all rows to a new file and return their number. ``facts`` say what the table is of, where the format
    has a place for it. Raises ``TableError`` where it can't.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, cast

from reports.extensions import extension_names, load_extension

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

Value: TypeAlias = int | float | str | bool | None
Row: TypeAlias = tuple[Value, ...]


class TableError(ValueError):
    """A table that can't be written. The message names the fault and the remedy."""


class Kind(enum.Enum):
    """What the values of a column are; any may be missing."""

    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    TRUTH = "true or false"


class Column(NamedTuple):
    """A column.

    Attributes:
        name: With the unit at its end, as in ``sent_ns``.
        kind: Of its values.
        meaning: One sentence: what it is, from when it counts, and when it is missing.
    """

    name: str
    kind: Kind
    meaning: str


class Format(Protocol):
    """What a format's module has to offer."""

    SUFFIX: str

    def write(
        self, path: Path, columns: Sequence[Column], rows: Iterable[Row], facts: Mapping[str, str]
    ) -> int:
        """See the package."""


def names() -> tuple[str, ...]:
    """All formats there are, in alphabetical order; none is imported for this."""
    return extension_names(__name__)


def get(name: str) -> Format:
    """The format of that name.

    Raises:
        TableError: There is none.
    """
    if name not in names():
        raise TableError(f"no format {name!r}; there are: {', '.join(names())}")
    return cast("Format", load_extension(__name__, name))
