"""The calibration of a machine: levels of load, and the largest that the harness may be trusted with."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from harness.calibration.level import Level

SCHEMA_VERSION: Final = 1


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What was found.

    Attributes:
        schema_version: Of this structure.
        tool_version: Of tokenpace.
        made_at: ISO 8601 wall time with zone.
        machine: What it was made on: ``environment()``.
        workers: Processes that sent the load.
        limit_ns: A bound larger than this was of no use.
        levels: In order of size.
    """

    schema_version: int = SCHEMA_VERSION
    tool_version: str
    made_at: str
    machine: dict[str, Any]
    workers: int
    limit_ns: int
    levels: tuple[Level, ...]

    @property
    def trusted(self) -> Level | None:
        """The largest level that may be trusted; None for none."""
        return max((each for each in self.levels if each.trusted), key=_size, default=None)

    @property
    def bound(self) -> int:
        """Of every error at any trusted level, ns; 0 where none is."""
        return max((each.bound for each in self.levels if each.trusted), default=0)

    @property
    def chunks_per_s(self) -> float:
        """The most of any trusted level."""
        return max((each.chunks_per_s for each in self.levels if each.trusted), default=0.0)


def _size(each: Level) -> int:
    return each.streams
