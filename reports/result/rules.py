"""The objectives of a run, judged."""

from __future__ import annotations

import msgspec

from reports.result.verdict import Verdict


class RuleResult(msgspec.Struct, frozen=True, kw_only=True):
    """One objective, judged.

    Attributes:
        rule: As written, in canonical form: ``ttft p99 < 500ms``.
        metric: The name of the metric, rate, share or figure of the server.
        observed: The value that was judged, unrounded, in ``unit``. None without samples.
        limit: The limit in ``unit``.
        unit: ``ns``, ``tokens``, ``stalls``, ``requests``, ``tokens/s``, ``requests/s``, ``share``, ``nats``,
            or empty for plain numbers.
        verdict: PASS, FAIL, INCONCLUSIVE or INVALID.
        confidence: The confidence the verdict was asked to have, 0..1.
        n: Number of samples behind ``observed``.
        n_eff: The number of independent samples that say as much: fewer where neighbouring requests, or the
            tokens of one answer, are alike. None for what needs no confidence, and for rates per second.
        low: Lower end of the confidence interval of ``observed``, None where it has none.
        high: Upper end, likewise.
        more_needed: For INCONCLUSIVE: how many more samples would decide if the share of misses
            stays as it is; None where unknown.
        message: One sentence: what was found and, unless it passed, what to do.
    """

    rule: str
    metric: str
    observed: float | None
    limit: float
    unit: str
    verdict: Verdict
    confidence: float
    n: int
    n_eff: float | None = None
    low: float | None = None
    high: float | None = None
    more_needed: int | None = None
    message: str = ""


class Looks(msgspec.Struct, frozen=True, kw_only=True):
    """How a run was judged that ends as soon as its objectives are decided.

    Attributes:
        look: The look at which it was judged, from 1; ``most`` where it came to its own end.
        most: How many looks there could have been.
        place: The part of the plan at which that look is, 0..1.
        level: The confidence of that look by itself: its verdicts and bounds have it.
        confidence: That of all looks together, as asked for.
    """

    look: int
    most: int
    place: float
    level: float
    confidence: float
