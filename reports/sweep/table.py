"""The result of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from reports.latency import Latency as Latency
from reports.result import ResultError, RuleResult, Verdict

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 1
_WORST_FIRST = (Verdict.INVALID, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS)


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """A key and its values.

    Attributes:
        key: With dots, as in a scenario.
        values: Plain data.
    """

    key: str
    values: tuple[Any, ...]


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a sweep.

    Attributes:
        number: Its place in the grid, from 1.
        values: By key.
        verdict: None where no objectives were stated.
        causes: Why it is INVALID.
        num_requests: In all.
        duration_s: Of the run.
        achieved: Requests per second that were answered.
        goodput: Those that met every objective of single requests; None without such.
        attainment: Share of them.
        error_rate: Share of failures.
        output_token_rate: Tokens per second.
        latencies: TTFT, TPOT and end-to-end time.
        rules: The objectives, judged.
        folder: Its result folder, within that of the sweep.
        drained: How the server was found when it was over.
    """

    number: int = 0
    values: dict[str, Any]
    verdict: Verdict | None
    causes: tuple[str, ...] = ()
    num_requests: int = 0
    duration_s: float = 0.0
    achieved: float | None = None
    goodput: float | None = None
    attainment: float | None = None
    error_rate: float | None = None
    output_token_rate: float | None = None
    latencies: tuple[Latency, ...] = ()
    rules: tuple[RuleResult, ...] = ()
    folder: str = ""
    drained: str = ""

    def latency(self, name: str) -> Latency | None:
        """That of a metric; None where the point has none."""
        return next((each for each in self.latencies if each.name == name), None)


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
        found = {point.verdict for point in self.points}
        return next((verdict for verdict in _WORST_FIRST if verdict in found), None)

    @property
    def exit_code(self) -> int:
        """130 or 143 when interrupted, else the worst verdict's exit code."""
        if self.interrupted is not None:
            return {"SIGINT": 130, "SIGTERM": 143}.get(self.interrupted, 130)
        return 0 if self.verdict is None else self.verdict.exit_code


def load(path: Path) -> Sweep:
    """Read ``sweep.json``.

    Raises:
        ResultError: It can't be read, or is of another version.
    """
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Sweep)
    except OSError as error:
        raise ResultError(f"{path} can't be read ({error.strerror})") from error
    except msgspec.MsgspecError as error:
        raise ResultError(f"{path} is damaged, or is no result of tokenpace sweep ({error})") from error
    if found.schema_version != SCHEMA_VERSION:
        raise ResultError(f"{path}: version {found.schema_version}, this tokenpace reads {SCHEMA_VERSION}")
    return found
