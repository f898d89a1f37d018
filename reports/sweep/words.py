"""A sweep in words and lines: what console, Markdown and HTML all show alike."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from reports.run_row import TIMES
from reports.units import quantity

if TYPE_CHECKING:
    from reports.result import Verdict
    from reports.sweep.table import Point, Sweep

COLUMNS = (
    "n",
    "TTFT p50",
    "TTFT p95",
    "TPOT p95",
    "e2e p95",
    "answered/s",
    "tokens/s",
    "attainment",
    "errors",
)


@dataclasses.dataclass(frozen=True)
class PointLine:
    """A point, written; ``values`` in the order of the axes."""

    number: str
    values: tuple[str, ...]
    verdict: Verdict | None
    cells: tuple[str, ...]
    reason: str
    folder: str


def point_words(values: dict[str, Any]) -> str:
    """``load.rate=4, sampling.max_tokens=16``."""
    return ", ".join(f"{key}={value}" for key, value in values.items())


def short(key: str) -> str:
    """The last part of a key."""
    return key.rpartition(".")[2]


def point_lines(sweep: Sweep) -> list[PointLine]:
    """All points in the order of the grid."""
    return [_line(sweep, point) for point in sweep.points]


def _line(sweep: Sweep, point: Point) -> PointLine:
    ttft = point.latency("ttft")
    cells = (
        f"{point.num_requests:,}",
        quantity(None if ttft is None else ttft.p50, "ns", 3),
        *(quantity(point.p95(name), "ns", 3) for name in TIMES),
        quantity(point.achieved, "", 3),
        quantity(point.output_token_rate, "", 3),
        quantity(point.attainment, "share", 3),
        quantity(point.error_rate, "share", 3),
    )
    values = tuple(str(point.values[axis.key]) for axis in sweep.axes)
    return PointLine(str(point.number), values, point.verdict, cells, _reason(point), point.folder)


def _reason(point: Point) -> str:
    if point.causes:
        return "; ".join(point.causes)
    messages = (f"{rule.rule}: {rule.message}" for rule in point.rules if rule.verdict == point.verdict)
    return "" if point.verdict is None or point.verdict.value == "PASS" else next(messages, "")


def sentence(sweep: Sweep) -> str:
    """How many points, and how many of them passed."""
    done, planned = len(sweep.points), sweep.num_planned
    ran = f"{done} of {planned} points were run" if done < planned else f"{done} points"
    if sweep.fault is not None:
        return f"{ran}, then the sweep was broken off: {sweep.fault}; go on with --output."
    if not sweep.points:
        return f"{ran}."
    if sweep.verdict is None:
        return f"{ran}; no objectives were stated."
    passed = sum(point.verdict is not None and point.verdict.value == "PASS" for point in sweep.points)
    return f"{ran}; the objectives hold at {passed} of them."


def word(sweep: Sweep) -> str:
    """The worst verdict, INTERRUPTED or NOT JUDGED."""
    if sweep.interrupted is not None:
        return "INTERRUPTED"
    return "NOT JUDGED" if sweep.verdict is None else sweep.verdict.value


def facts(sweep: Sweep) -> list[tuple[str, str]]:
    """What was asked of whom."""
    return [
        ("scenario", sweep.scenario_name),
        *((axis.key, ", ".join(map(str, axis.values))) for axis in sweep.axes),
        ("model", sweep.model),
        ("server", sweep.base_url),
        ("started", sweep.started_at),
    ]
