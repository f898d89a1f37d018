"""Why a run can't be trusted as a whole, each with its remedy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot
    from reports.result import ClientHealth

_RATE_TOLERANCE: Final = 0.05


def causes(rules: Iterable[Rule], snapshot: Snapshot, health: ClientHealth | None) -> tuple[str, ...]:
    """One sentence for each cause; none where the run can be trusted."""
    judged_errors = any(rule.metric == "error_rate" for rule in rules)
    found = [*_of_samples(snapshot, judged_errors=judged_errors), *_of_range(snapshot)]
    if health is not None:
        found += [*_of_arrivals(health), *_of_rate(snapshot, health)]
    return tuple(found)


def _of_samples(snapshot: Snapshot, *, judged_errors: bool) -> Iterator[str]:
    failed, succeeded = snapshot.num_failed, snapshot.num_succeeded
    if not failed + succeeded:
        yield "no request was measured: run longer, or shorten warm-up and cool-down"
    elif not succeeded:
        yield f"no request succeeded, {failed} failed: see the table of errors"
    elif failed > succeeded and not judged_errors:
        yield (
            f"{failed} of {failed + succeeded} requests failed, so the rest says little: see the table of "
            "errors, or state an objective on error_rate if failures are expected"
        )


def _of_range(snapshot: Snapshot) -> Iterator[str]:
    for series, num in snapshot.num_unfit.items():
        if num:
            yield f"{num} values of {series} are longer than a histogram holds (1 h): lower timeouts.total"


def _of_arrivals(health: ClientHealth) -> Iterator[str]:
    if health.dropped_arrivals:
        yield (
            f"{health.dropped_arrivals} arrivals were due and never sent, so the slowest requests may be "
            "missing: lower the rate, or give the harness more CPU"
        )


def _of_rate(snapshot: Snapshot, health: ClientHealth) -> Iterator[str]:
    """Chance alone moves the rate of n arrivals by 3 / sqrt(n) at most (three standard deviations)."""
    planned, achieved = health.planned_rate, health.achieved_rate
    if not planned or achieved is None or snapshot.capped or not snapshot.num_requests:
        return
    off = achieved / planned - 1
    if abs(off) > max(_RATE_TOLERANCE, 3 / math.sqrt(snapshot.num_requests)):
        yield (
            f"{achieved:.4g} requests/s were sent where {planned:.4g} were planned ({100 * off:+.1f} %): the "
            "harness could not keep to the plan; lower the rate, or give the harness more CPU"
        )
