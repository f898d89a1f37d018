"""The rules, metrics and rates of a result in words: lines that every output shows alike."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from reports.text import one_line
from reports.units import MISSING, against, fixed, margin, quantity, scale_of

if TYPE_CHECKING:
    from reports.result import ErrorClass, MetricSummary, Percentile, Rate, Result, RuleResult, Verdict
    from reports.units import Scale

TITLES = {  # in the order in which tables show them
    "ttft": "Time to first token",
    "itl": "Inter-token latency",
    "tpot": "Time per output token",
    "e2e": "End-to-end time",
    "ttfa": "Time to first answer token",
    "chunk_gap": "Gap between chunks",
    "ntpot": "Normalized time per output token",
    "schedule_lag": "Schedule lag",
    "close_lag": "Close lag",
    "stall_max": "Longest stall",
    "stalls": "Stalls",
    "output_rate_per_user": "Output rate per user",
    "token_deadline_attainment": "Tokens in time",
    "output_tokens": "Output tokens",
    "prompt_tokens": "Prompt tokens",
    "request_rate": "Requests",
    "output_token_rate": "Output tokens",
    "input_token_rate": "Input tokens",
    "goodput": "Goodput",
    "attainment": "Attainment",
    "error_rate": "Error rate",
}
_MAX_SPREAD = 100
_COLUMNS = (50.0, 90.0, 95.0, 99.0, 99.9)


@dataclasses.dataclass(frozen=True)
class RuleLine:
    """A judged rule, written."""

    rule: str
    observed: str
    limit: str
    n: str
    interval: str
    margin: str
    verdict: Verdict
    message: str


@dataclasses.dataclass(frozen=True)
class MetricLine:
    """A metric, written in one unit; ``reason`` is set where there are no samples."""

    name: str
    title: str
    basis: str
    unit: str
    n: str
    percentiles: tuple[str, ...]
    intervals: tuple[str, ...]
    mean: str
    maximum: str
    client_error: str
    reason: str


@dataclasses.dataclass(frozen=True)
class RateLine:
    """A rate or share, written."""

    name: str
    title: str
    value: str
    detail: str


def title(name: str) -> str:
    """The metric's name in words."""
    return TITLES.get(name, name.replace("_", " ").capitalize())


def rule_line(rule: RuleResult) -> RuleLine:
    """``rule`` with digits that can't contradict its verdict."""
    observed, limit = against(rule.observed, rule.limit, rule.unit)
    return RuleLine(
        rule=rule.rule,
        observed=observed,
        limit=limit,
        n=_number(rule),
        interval=_interval(rule),
        margin=margin(rule.observed, rule.limit, rule.unit, upper="<" in rule.rule),
        verdict=rule.verdict,
        message=rule.message,
    )


def _number(rule: RuleResult) -> str:
    """How many samples, and how many independent ones they are worth where that is fewer."""
    if rule.n_eff is None or round(rule.n_eff) >= rule.n:
        return f"{rule.n:,}"
    return f"{rule.n:,} (worth {rule.n_eff:,.0f})"


def columns(result: Result) -> tuple[float, ...]:
    """The percentiles shown in tables: those of the usual five that the result holds."""
    present = {each.p for metric in result.metrics for each in metric.percentiles}
    return tuple(p for p in _COLUMNS if p in present) or _COLUMNS[:4]


def metric_lines(result: Result, shown: tuple[float, ...]) -> list[MetricLine]:
    """All metrics of ``result``, best known first, with the percentiles ``shown``."""
    order = {name: place for place, name in enumerate(TITLES)}
    metrics = sorted(result.metrics, key=lambda metric: order.get(metric.name, len(order)))
    return [_metric_line(metric, shown, _limits(result, metric.name)) for metric in metrics]


def _metric_line(metric: MetricSummary, shown: tuple[float, ...], limits: list[float]) -> MetricLine:
    """All numbers of a line have one unit and, but for the mean, the same number of decimals."""
    scale = _scale(metric)
    cells = [cell.value if cell else None for cell in map(metric.percentile, shown)]
    *percentiles, maximum = fixed([*cells, metric.maximum], scale, limits)
    return MetricLine(
        name=metric.name,
        title=title(metric.name),
        basis=metric.basis or "",
        unit=scale.label,
        n=f"{metric.n:,}",
        percentiles=tuple(percentiles),
        intervals=tuple(percentile_interval(metric.percentile(p), scale) for p in shown),
        mean=fixed([metric.mean], scale, limits)[0],
        maximum=maximum,
        client_error=_client_error(metric),
        reason="" if metric.n else metric.reason or "no samples",
    )


def _scale(metric: MetricSummary) -> Scale:
    """That of the median, or of a hundredth of the largest value: ``702 ms``, not ``702,000 µs``."""
    middle = metric.percentile(50.0)
    typical = metric.maximum if middle is None else middle.value
    return scale_of(metric.unit, max(typical or 0.0, (metric.maximum or 0.0) / _MAX_SPREAD))


def percentile_interval(percentile: Percentile | None, scale: Scale) -> str:
    """Both ends with a dash between them; an end that so few samples can't bound is left out."""
    if percentile is None:
        return ""
    low, high = fixed([percentile.low, percentile.high], scale, [])
    if percentile.high is None:
        return "" if percentile.low is None else f"\u2265{low}"
    return f"\u2264{high}" if percentile.low is None else f"{low}\u2013{high}"


def rate_lines(result: Result) -> list[RateLine]:
    """All rates and shares of ``result`` with the counts they come from."""
    return [_rate_line(rate, _limits(result, rate.name)) for rate in result.rates]


def _rate_line(rate: Rate, limits: list[float]) -> RateLine:
    detail = rate.reason or ""
    if rate.value is not None and rate.numerator is not None and rate.denominator is not None:
        unit, word = (" s", "in") if rate.unit != "share" else ("", "of")
        detail = f"{quantity(rate.numerator, '')} {word} {quantity(rate.denominator, '')}{unit}"
    value = against(rate.value, limits[0], rate.unit)[0] if limits else quantity(rate.value, rate.unit)
    return RateLine(rate.name, title(rate.name), value, detail)


def _limits(result: Result, name: str) -> list[float]:
    return [rule.limit for rule in result.rules if rule.metric == name]


def error_label(error: ErrorClass) -> str:
    """``timeout (first_token)``."""
    return one_line(f"{error.outcome} ({error.detail})" if error.detail else error.outcome)


def error_sample(error: ErrorClass) -> str:
    """What was said, and under which name to look for it in the server's log."""
    if error.request_id is None:
        return error.sample
    return f"{error.sample} (X-Request-Id {error.request_id})".strip()


def _client_error(metric: MetricSummary) -> str:
    error = metric.client_error_p99
    return MISSING if error is None else "±" + quantity(error, metric.unit, 2)


def _interval(rule: RuleResult) -> str:
    if rule.low is None and rule.high is None:
        return MISSING
    low, high = (
        "unbounded" if end is None else against(end, rule.limit, rule.unit)[0]
        for end in (rule.low, rule.high)
    )
    return f"{low} to {high}"
