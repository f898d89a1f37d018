"""What a run says about one rule."""

from __future__ import annotations

import msgspec

from harness.sla.dependence import Dependence
from harness.sla.statistics import Decision


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence for or against a rule.

    Attributes:
        observed: In the rule's unit; None without samples.
        n: Number of samples behind it.
        dependence: How much less they say than independent ones would; None where it makes no difference.
        low: Bound from below at the stated confidence; None where there is none.
        high: Bound from above, likewise.
        decision: TRUE where the rule holds, FALSE where it is violated.
        needed: Samples in all that would decide if all went on like this; None where unknown.
        detail: What was counted, for the message.
        reason: Why there is no sample.
    """

    observed: float | None
    n: int
    dependence: Dependence | None = None
    low: float | None = None
    high: float | None = None
    decision: Decision = Decision.OPEN
    needed: int | None = None
    detail: str = ""
    reason: str = ""

    @property
    def n_eff(self) -> float | None:
        """The number of independent samples that would say as much; None where it makes no difference."""
        return None if self.dependence is None else self.dependence.worth(self.n)
