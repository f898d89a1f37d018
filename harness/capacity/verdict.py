"""From a run to a probe: what a run says about a load, which isn't quite what it says about itself.

A run that ended because it passed a limit of ``load.stop`` sent more than the server can do: FAIL, though
part of its load was never sent. A run that the client couldn't keep up with is INVALID, and the client and
not the server is the limit. One in which most requests failed has no latencies to judge; beyond a load that
passed that is the server's FAIL, and INVALID where nothing ever passed: then the server refuses everything.
A server that is gone after it has failed no load: INVALID. Any other run that can't be trusted says nothing
of either side and is as good as undecided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import structs

from reports.capacity.search import Probe
from reports.result import Verdict
from reports.run_row import figures_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.capacity.search import Step
    from harness.result_folder import Checkpoint, Manifest
    from reports.result import Result

_PACE: Final = 0.05
_CLIENT: Final = "the client and not the server is the limit"


def probe_of(
    step: Step, before: Sequence[Probe], result: Result, manifest: Manifest, checkpoint: Checkpoint
) -> Probe:
    """What a run says about its load.

    Args:
        step: What was asked for.
        before: The probes before it.
        result: Of the run.
        manifest: Likewise.
        checkpoint: Likewise.
    """
    has_passed = any(each.verdict is Verdict.PASS and each.load < step.load for each in before)
    verdict, reason = _verdict(result, manifest, checkpoint, has_passed=has_passed)
    saturated = checkpoint.stopped is not None and verdict is Verdict.FAIL
    open_rules = [rule for rule in result.rules if rule.verdict is Verdict.INCONCLUSIVE]
    return Probe(
        number=len(before) + 1,
        load=step.load,
        length=step.length,
        verdict=verdict,
        reason=reason,
        saturated=saturated,
        num_requests=max((rule.n for rule in result.rules), default=0),
        num_independent=None if saturated else _num_independent(result, verdict),
        more_needed=max((rule.more_needed or 0 for rule in open_rules), default=0) or None,
        **figures_of(result),
    )


def where_the_server_died(probe: Probe, fault: str) -> Probe:
    """A probe that failed, when the server doesn't answer any more: why it is gone isn't known.

    Args:
        probe: As its run has it.
        fault: What came of asking the server.
    """
    reason = f"the server is gone since this probe, so its failures say nothing of what it bears: {fault}"
    return structs.replace(probe, verdict=Verdict.INVALID, reason=reason, saturated=False)


def _verdict(
    result: Result, manifest: Manifest, checkpoint: Checkpoint, *, has_passed: bool
) -> tuple[Verdict, str]:
    if _is_client_bound(result, manifest, checkpoint):
        return Verdict.INVALID, f"{_CLIENT}: {'; '.join(result.causes)}"
    if checkpoint.stopped is not None:
        return Verdict.FAIL, checkpoint.stopped
    if result.verdict in (Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE):
        return result.verdict, _reason(result, result.verdict)
    if _has_mostly_failed(result):
        return Verdict.FAIL if has_passed else Verdict.INVALID, "; ".join(result.causes)
    if all(rule.observed is None for rule in result.rules):
        return Verdict.INVALID, "; ".join(result.causes) or _reason(result, Verdict.INVALID)
    return Verdict.INCONCLUSIVE, "; ".join(result.causes) or _reason(result, Verdict.INVALID)


def _is_client_bound(result: Result, manifest: Manifest, checkpoint: Checkpoint) -> bool:
    """Whether what was planned wasn't sent, and no cap on requests in flight is to blame."""
    if result.verdict is not Verdict.INVALID or not result.causes:
        return False
    if checkpoint.lost_workers:
        return True
    if manifest.capped or checkpoint.stopped is not None:
        return False
    health = result.health
    achieved, planned = health.achieved_rate, health.planned_rate
    is_off = achieved is not None and planned is not None and abs(achieved / planned - 1) > _PACE
    return health.dropped_arrivals > 0 or is_off


def _has_mostly_failed(result: Result) -> bool:
    failed = sum(error.count for error in result.errors)
    return 2 * failed > result.num_requests > 0


def _reason(result: Result, verdict: Verdict) -> str:
    messages = (f"{rule.rule}: {rule.message}" for rule in result.rules if rule.verdict is verdict)
    return next(messages, "")


def _num_independent(result: Result, verdict: Verdict) -> float | None:
    """None are behind a verdict that was left open because the run can't be trusted."""
    if verdict is Verdict.INCONCLUSIVE and result.verdict is Verdict.INVALID:
        return 0.0
    return min((rule.n_eff for rule in result.rules if rule.n_eff is not None), default=None)
