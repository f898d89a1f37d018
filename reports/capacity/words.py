"""A search in words and lines: what console, Markdown and HTML all show alike."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from reports.run_row import TIMES
from reports.units import quantity, significant

if TYPE_CHECKING:
    from reports.capacity.search import Capacity, Probe
    from reports.result import Verdict

COLUMNS = ("load", "length", "n", "TTFT p95", "TPOT p95", "e2e p95", "answered/s", "attainment", "errors")


@dataclasses.dataclass(frozen=True)
class ProbeLine:
    """A probe, written."""

    number: str
    verdict: Verdict
    cells: tuple[str, ...]
    reason: str
    folder: str


def load_words(load: float, unit: str) -> str:
    """``12 requests/s``, ``1 slot``."""
    if unit == "slots" and load == 1:
        return "1 slot"
    return f"{significant(load, 3)} {unit}"


def interval_words(capacity: Capacity) -> str:
    """Estimate and interval, or the one end that is known."""
    low, high, unit = capacity.low, capacity.high, capacity.unit
    sure = f"with {quantity(capacity.confidence, 'share')} confidence"
    if low is None and high is None:
        return "not bounded on either side"
    if high is None:
        assert low is not None
        return f"{load_words(low, unit)} or more {sure}"
    if low is None:
        return f"at most {load_words(high, unit)} {sure}"
    if low == high:
        return f"{load_words(low, unit)} {sure}"
    assert capacity.estimate is not None
    return f"{load_words(capacity.estimate, unit)} ({significant(low, 3)} to {significant(high, 3)} {sure})"


def probe_lines(capacity: Capacity) -> list[ProbeLine]:
    """All probes in their order."""
    return [probe_line(probe) for probe in capacity.probes]


def probe_line(probe: Probe) -> ProbeLine:
    """One probe; cells as in ``COLUMNS``."""
    cells = (
        significant(probe.load, 3),
        f"{significant(probe.length, 3)}x",
        f"{probe.num_requests:,}",
        *(quantity(probe.p95(name), "ns", 3) for name in TIMES),
        quantity(probe.achieved, "", 3),
        quantity(probe.attainment, "share", 3),
        quantity(probe.error_rate, "share", 3),
    )
    return ProbeLine(str(probe.number), probe.verdict, cells, probe.reason, probe.folder)


def facts(capacity: Capacity) -> list[tuple[str, str]]:
    """What was asked of whom."""
    return [
        ("scenario", capacity.scenario_name),
        ("varied", capacity.key),
        ("objectives", "; ".join(capacity.objectives)),
        ("model", capacity.model),
        ("server", capacity.base_url),
        ("started", capacity.started_at),
    ]
