"""Why a run can't be trusted as a whole, each with its remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.rates import ERROR_RATE
from reports.result import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.summary.snapshot import Snapshot
    from reports.result import ClientHealth, RuleResult

_PACE_TOLERANCE: Final = 0.05
_LATE: Final = "could not keep to the plan; lower the rate, or give it more CPU"
_LATE_AT_FIRST: Final = "sent the first late and then made up for it; give it more CPU"


def causes(
    results: Iterable[RuleResult], snapshot: Snapshot, health: ClientHealth | None, *, with_pace: bool = True
) -> tuple[str, ...]:
    """One sentence for each cause; none where the run can be trusted.

    Args:
        results: What its objectives came to.
        snapshot: As for ``judge``.
        health: Likewise.
        with_pace: Likewise.
    """
    judged_errors = any(
        result.metric == ERROR_RATE and result.verdict in (Verdict.PASS, Verdict.FAIL) for result in results
    )
    return (
        *_of_samples(snapshot, judged_errors=judged_errors),
        *_of_range(snapshot),
        *(() if health is None else _of_arrivals(snapshot, health)),
        *(_of_pace(snapshot) if with_pace else ()),
    )


def _of_samples(snapshot: Snapshot, *, judged_errors: bool) -> Iterator[str]:
    failed, succeeded = snapshot.num_failed, snapshot.num_succeeded
    if not failed + succeeded:
        yield "no request was measured: run longer, or shorten warm-up and cool-down"
    elif not succeeded:
        yield f"no request succeeded, {failed} failed: see the table of errors"
    elif failed > succeeded and not judged_errors:
        yield (
            f"{failed} of {failed + succeeded} requests failed, so the rest says little: see the table of "
            "errors; where failures are expected, an objective on error_rate has to say how many"
        )


def _of_range(snapshot: Snapshot) -> Iterator[str]:
    for series, num in snapshot.num_unfit.items():
        if num:
            yield f"{num} values of {series} are longer than a histogram holds (1 h): lower timeouts.total"


def _of_arrivals(snapshot: Snapshot, health: ClientHealth) -> Iterator[str]:
    if health.dropped_arrivals:
        remedy = "raise load.max_in_flight or load.grace" if snapshot.capped else "give the harness more CPU"
        yield (
            f"{health.dropped_arrivals} arrivals were due and never sent, so the slowest requests are "
            f"missing: lower the rate, or {remedy}"
        )


def _of_pace(snapshot: Snapshot) -> Iterator[str]:
    if snapshot.pace is None or snapshot.capped:
        return
    due, sent = snapshot.pace
    if abs(sent / due - 1) > _PACE_TOLERANCE:
        yield (
            f"{sent:.4g} requests/s were sent where {due:.4g} were due ({100 * (sent / due - 1):+.1f} %): "
            f"the harness {_LATE if sent < due else _LATE_AT_FIRST}"
        )
