"""An objective: what must hold of a run.

In a scenario they stand under the metric, as k6 writes its thresholds::

    thresholds:
      ttft: ["p99 < 500ms", "mean < 200ms"]
      service_e2e: ["max < 20s"]             # from sent instead of from due; also e2e(service)
      output_tokens: ["min >= 1"]
      stalls: ["p99 <= 0", "mean < 0.1"]     # gaps over stall_limit: in 99 % of the requests none
      error_rate: ["< 1%"]
      error_rate[timeout]: ["< 0.1%"]        # of one class; also error_rate_timeout
      goodput: [">= 5/s"]
      server_kv_cache_usage: ["max < 90%"]   # what the server says of itself
      perplexity_ratio: ["< 1.005"]          # of the quality that the scenario measures

In the pytest marker they are keywords: ``ttft_p99="500ms"``, ``ttft_p99_9="2s"``, ``error_rate="<1%"``,
``error_rate_timeout="0.1%"``.
A latency counts from when its request was due, unless it is asked for otherwise.
"""

from __future__ import annotations

import enum

import msgspec

from harness import metrics
from harness.quality_figures import QUALITY_FIGURES
from harness.rates import OF_OUTPUT_TOKENS, UNITS
from harness.series import SERVICE, Series, series_of
from harness.server_figures import SERVER_FIGURES
from harness.sla.quantity import write_number, write_quantity


class Operator(enum.StrEnum):
    """How the observed value compares with the limit."""

    BELOW = "<"
    AT_MOST = "<="
    ABOVE = ">"
    AT_LEAST = ">="

    @property
    def is_ceiling(self) -> bool:
        """True where smaller is better."""
        return self in (Operator.BELOW, Operator.AT_MOST)

    @property
    def strict(self) -> bool:
        """True where the limit itself misses."""
        return self in (Operator.BELOW, Operator.ABOVE)

    def holds(self, value: float, limit: float) -> bool:
        """Whether ``value`` meets ``limit``."""
        if value == limit:
            return not self.strict
        return (value < limit) == self.is_ceiling


class Statistic(msgspec.Struct, frozen=True):
    """What of a metric's values is compared.

    Attributes:
        name: ``mean``, ``min``, ``max`` or ``percentile``.
        p: The percentile, 0 < p < 100; None for the others.
    """

    name: str
    p: float | None = None

    def __str__(self) -> str:
        """As objectives write it: ``mean``, ``p99.9``."""
        return self.name if self.p is None else f"p{write_number(self.p)}"


def unit_of(metric: str) -> str:
    """Of limit and values of a metric, rate, share or figure of the server or of quality."""
    if metric in UNITS:
        return UNITS[metric]
    if metric in QUALITY_FIGURES:
        return QUALITY_FIGURES[metric].unit
    figure = SERVER_FIGURES.get(metric)
    return metrics.metric(metric).unit if figure is None else figure.unit


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One objective.

    Attributes:
        metric: A metric of ``harness.metrics``, a rate or share of ``harness.rates``, or a figure of
            ``harness.server_figures`` or ``harness.quality_figures``.
        basis: ``response`` or ``service``; None for what has no bases.
        statistic: What of the metric's values; None for what is one number.
        operator: How it compares.
        limit: In ``unit``.
    """

    metric: str
    basis: str | None = None
    statistic: Statistic | None = None
    operator: Operator
    limit: float

    @property
    def unit(self) -> str:
        """Of limit and observed value."""
        return unit_of(self.metric)

    @property
    def is_rate(self) -> bool:
        """True for a rate or share over the window, False for a metric of requests."""
        return self.metric in UNITS

    @property
    def is_of_server(self) -> bool:
        """True for what the server says of itself."""
        return self.metric in SERVER_FIGURES

    @property
    def is_of_quality(self) -> bool:
        """True for what the server expects of a text."""
        return self.metric in QUALITY_FIGURES

    @property
    def is_of_requests(self) -> bool:
        """True for a metric of requests."""
        return not (self.is_rate or self.is_of_server or self.is_of_quality)

    @property
    def needs_output_tokens(self) -> bool:
        """Whether it depends on how many tokens answers have."""
        if self.is_rate:
            return self.metric in OF_OUTPUT_TOKENS
        return self.is_of_requests and metrics.metric(self.metric).needs_output_tokens

    @property
    def key(self) -> str:
        """Under which it stands in a scenario: ``ttft``, ``service_ttft``, ``goodput``."""
        return str(Series(self.metric, self.basis))

    @property
    def condition(self) -> str:
        """What stands there: ``p99 < 500ms``, ``< 1%``."""
        head = f"{self.statistic} " if self.statistic else ""
        return f"{head}{self.operator} {write_quantity(self.limit, self.unit)}"

    def __str__(self) -> str:
        """The canonical form: ``ttft p99 < 500ms``."""
        return f"{self.key} {self.condition}"

    def holds(self, value: float) -> bool:
        """Whether an observed value meets the limit."""
        return self.operator.holds(value, self.limit)

    def series(self, loop: str) -> Series:
        """The series it is about, in a run with that loop.

        Raises:
            LookupError: It is about a rate.
        """
        if self.is_of_server or self.is_of_quality:
            return Series(self.metric)
        return series_of(self.metric, self.basis, loop)

    def objective(self) -> str | None:
        """The condition for one request by itself; None where the rule says nothing of single requests."""
        if not self.is_of_requests:
            return None
        if not isinstance(metrics.metric(self.metric), metrics.RequestMetric):
            return None
        basis = f"{SERVICE}_" if self.basis == SERVICE else ""
        return f"{basis}{self.metric} {self.operator} {write_quantity(self.limit, self.unit)}"
