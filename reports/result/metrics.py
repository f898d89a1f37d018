"""The numbers of a run: metrics, their curves, and rates."""

from __future__ import annotations

import msgspec

from reports.percentile import Percentile


class MetricSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One metric over the measured window.

    Attributes:
        name: ``ttft``, ``itl``, ``tpot``, ...
        basis: ``response`` (from due) or ``service`` (from sent), None where there is no difference.
        unit: ``ns``, ``tokens``, ``stalls``, ``tokens/s`` or ``share``.
        n: Number of samples.
        minimum: Exact smallest sample, None for n = 0.
        mean: Mean of the samples, None for n = 0.
        maximum: Exact largest sample, None for n = 0.
        percentiles: In ascending order of p; empty for n = 0.
        reason: Why there are no samples, None where there are some.
        client_error_p99: The harness's own error bound in the metric's unit, None where it has none.
    """

    name: str
    basis: str | None
    unit: str
    n: int
    minimum: float | None = None
    mean: float | None = None
    maximum: float | None = None
    percentiles: tuple[Percentile, ...] = ()
    reason: str | None = None
    client_error_p99: float | None = None

    def percentile(self, p: float) -> Percentile | None:
        """The percentile ``p`` if it was summarised, else None."""
        return next((each for each in self.percentiles if each.p == p), None)


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A metric's whole distribution, for the percentile chart.

    Attributes:
        name: As in ``MetricSummary``.
        basis: Likewise.
        unit: Likewise.
        n: Number of samples.
        points: (p, value) in ascending order of p, each a nearest-rank percentile; the last is p = 100.
    """

    name: str
    basis: str | None
    unit: str
    n: int
    points: tuple[tuple[float, float], ...]


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """A count per second over the measured window, or a share of requests.

    Attributes:
        name: ``request_rate``, ``output_token_rate``, ``input_token_rate``, ``goodput``,
            ``attainment``, ``error_rate``, and ``error_rate_timeout`` or another class where an
            objective is about it.
        unit: ``requests/s``, ``tokens/s`` or ``share``.
        value: None where it can't be known; ``reason`` says why.
        numerator: The count above the line.
        denominator: The count or the seconds below it.
        reason: Why the value is None.
    """

    name: str
    unit: str
    value: float | None
    numerator: float | None = None
    denominator: float | None = None
    reason: str | None = None
