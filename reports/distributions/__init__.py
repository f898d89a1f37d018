"""A histogram as a file that tools for HDR histograms read.

A format is one file of this folder, and the file's name is the format's name. It has

``SUFFIX: str``
    of the file's name, with the dot,
``write(file: TextIO, interval: Interval, begun_s: float, name: str, units_per_value: float) -> None``
    write the histogram of an interval. ``begun_s`` is the start of the run in seconds since the epoch,
    ``name`` what was measured, and ``units_per_value`` how many units of the histogram make 1 in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TextIO, cast

from reports.extensions import extension_names, load_extension
from reports.tables import TableError

if TYPE_CHECKING:
    from reports.hdr_log import Interval


class Format(Protocol):
    """What a format's module has to offer."""

    SUFFIX: str

    def write(
        self, file: TextIO, interval: Interval, begun_s: float, name: str, units_per_value: float
    ) -> None:
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
        raise TableError(f"no format {name!r} for histograms; there are: {', '.join(names())}")
    return cast("Format", load_extension(__name__, name))
