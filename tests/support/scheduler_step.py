"""A step of a scheduler without an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.engine.scheduler import Scheduler


def step(scheduler: Scheduler, *, token_ns: int | None = None) -> dict[str, int]:
    """Schedule, pretend to compute, and append a token wherever one is due; counts by request id.

    Args:
        scheduler: Its invariants hold afterwards.
        token_ns: What it is told that each token took; None to tell it nothing.
    """
    scheduled = scheduler.schedule()
    if token_ns is not None:
        scheduler.observe(scheduled, sum(item.num_scheduled_tokens for item in scheduled) * token_ns)
    for item in scheduled:
        samples = item.samples
        item.sequence.num_computed_tokens += item.num_own_tokens
        if samples:
            item.sequence.append(1)
            scheduler.judge(item.sequence, [1])
    scheduler.check_invariants()
    return {item.sequence.request_id: item.num_scheduled_tokens for item in scheduled}
