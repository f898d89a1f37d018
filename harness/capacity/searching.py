"""The loop of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from harness.campaign.interrupted import Interrupted
from harness.capacity.answer import answer
from harness.capacity.search import Search, Step
from harness.errors import HarnessError
from reports.capacity.search import End

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.capacity.answer import Question
    from harness.capacity.search import Limits
    from reports.capacity.search import Capacity, Probe


class Prober(Protocol):
    """Puts a load on a server, or on what stands for one."""

    async def __call__(self, step: Step, before: Sequence[Probe]) -> Probe | Interrupted:
        """Run one probe to its end, after those ``before`` it."""


async def find_capacity(
    question: Question,
    limits: Limits,
    prober: Prober,
    *,
    earlier: Sequence[Probe] = (),
    notes: Sequence[str] = (),
    on_probe: Callable[[Capacity], None] | None = None,
) -> Capacity:
    """Search until the answer is known or the budget is spent.

    Args:
        question: What it is about.
        limits: What it may do.
        prober: Runs the probes.
        earlier: Those that an earlier search has made.
        notes: What the reader must know besides.
        on_probe: Called after each with the answer so far, as an interrupted one.

    Raises:
        HarnessError: The first probe can't be made. A later one that can't ends the search.
    """
    probes = list(earlier)
    while isinstance(step := Search(limits, probes).next(), Step):
        try:
            probe = await prober(step, tuple(probes))
        except HarnessError as error:
            if not probes:
                raise
            return answer(question, limits, probes, End.INVALID, fault=str(error), notes=notes)
        if isinstance(probe, Interrupted):
            signal_name = probe.signal_name
            return answer(question, limits, probes, End.INTERRUPTED, interrupted=signal_name, notes=notes)
        probes.append(probe)
        if on_probe is not None:
            on_probe(answer(question, limits, probes, End.INTERRUPTED, notes=notes))
    return answer(question, limits, probes, step, notes=notes)
