"""The result of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from reports.document import read_document
from reports.result import Verdict, exit_code
from reports.result.verdict import worst
from reports.run_row import RunRow

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 1


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """A key and its values.

    Attributes:
        key: With dots, as in a scenario.
        values: Plain data.
    """

    key: str
    values: tuple[Any, ...]


class Point(RunRow, frozen=True, kw_only=True):
    """One run of a sweep; attributes besides those of ``RunRow``:

    Attributes:
        number: Its place in the grid, from 1.
        values: By key.
        verdict: None where no objectives were stated.
        causes: Why it is INVALID.
        num_requests: In all.
        duration_s: Of the run.
    """

    number: int = 0
    values: dict[str, Any]
    verdict: Verdict | None
    causes: tuple[str, ...] = ()
    num_requests: int = 0
    duration_s: float = 0.0


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """What a sweep came to.

    Attributes:
        schema_version: Of this structure.
        tool_version: Of tokenpace.
        scenario_name: Name of the scenario.
        scenario: As given, secrets masked.
        axes: What was varied.
        base_url: The address under test, secrets masked.
        model: The model's name as sent.
        started_at: ISO 8601 wall time with zone.
        points: Those that were run, in the order of the grid.
        interrupted: Name of the signal that ended it, None if none did.
        fault: What went wrong, where that ended it.
    """

    schema_version: int = SCHEMA_VERSION
    tool_version: str
    scenario_name: str
    scenario: dict[str, Any]
    axes: tuple[Axis, ...]
    base_url: str
    model: str
    started_at: str
    points: tuple[Point, ...] = ()
    interrupted: str | None = None
    fault: str | None = None

    @property
    def num_planned(self) -> int:
        """Points of the whole grid."""
        num = 1
        for axis in self.axes:
            num *= len(axis.values)
        return num

    @property
    def verdict(self) -> Verdict | None:
        """The worst of all, INVALID after a fault; None where no objectives were stated."""
        if self.fault is not None:
            return Verdict.INVALID
        return worst(point.verdict for point in self.points)

    @property
    def exit_code(self) -> int:
        """129, 130 or 143 when interrupted, else the worst verdict's exit code."""
        return exit_code(self.verdict, self.interrupted)


def load(path: Path) -> Sweep:
    """Read ``sweep.json``.

    Raises:
        DocumentError: It can't be read, or is of another version.
    """
    return read_document(path, Sweep, SCHEMA_VERSION, "result of tokenpace sweep")
