"""The report's tables that no other report has: key figures, time slices, requests, client health."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from reports import view
from reports.curves import NAMED
from reports.formats.html.percentile_chart import curves_of, label
from reports.formats.html.scatter_charts import failed
from reports.text import one_line
from reports.units import MISSING, duration, grouped, quantity, significant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.result import Percentile, RequestRow, Result, RuleResult, TimePoint

_MAX_MESSAGE = 80


@dataclasses.dataclass(frozen=True)
class Tile:
    """A key figure."""

    name: str
    value: str
    unit: str
    sub: str


@dataclasses.dataclass(frozen=True)
class Bullet:
    """A rule drawn: places in per cent of the width."""

    low: float
    high: float
    limit: float
    observed: float


@dataclasses.dataclass(frozen=True)
class Columns:
    """The numbers behind a chart: names of the latency columns, and rows."""

    names: tuple[str, ...]
    rows: list[tuple[str, ...]]


def tiles(result: Result) -> Iterator[Tile]:
    """The figures a reader looks for first, those the run has."""
    for name in ("ttft", "tpot", "e2e"):
        metric = result.metric(name)
        middle = metric.percentile(50.0) if metric else None
        if metric is None or middle is None:
            continue
        tail = metric.percentile(99.0)
        number, unit = quantity(middle.value, metric.unit, 3).split(" ", 1)
        yield Tile(
            f"{name.upper()} p50", number, unit, f"p99 {quantity(tail.value if tail else None, 'ns', 3)}"
        )
    for name in ("output_token_rate", "request_rate", "error_rate"):
        rate = result.rate(name)
        if rate is not None and rate.value is not None:
            number, _, unit = quantity(rate.value, rate.unit, 3).partition(" ")
            yield Tile(view.title(name), number, unit, _rate_detail(result, name))


def _rate_detail(result: Result, name: str) -> str:
    return next((line.detail for line in view.rate_lines(result) if line.name == name), "")


def bullet(rule: RuleResult) -> Bullet | None:
    """``rule`` drawn from 0 to a little above what there is; None without a sample."""
    if rule.observed is None or rule.limit <= 0:
        return None
    low = rule.observed if rule.low is None else rule.low
    high = rule.observed if rule.high is None else rule.high
    end = max(1.25 * rule.limit, 1.08 * max(high, rule.observed))
    places = (round(100 * max(0.0, value) / end, 2) for value in (low, high, rule.limit, rule.observed))
    return Bullet(*places)


def slices(result: Result) -> Columns | None:
    """The numbers behind the charts over time."""
    if not result.timeline:
        return None
    wanted = [(name, p) for name in ("ttft", "itl", "tpot") for p in _ps(result, name)]
    names = tuple(f"{name.upper()} p{p:g}, ms" for name, p in wanted)
    return Columns(names, [_slice(point, wanted) for point in result.timeline])


def percentiles(result: Result) -> Columns:
    """The numbers behind the percentile chart."""
    shown = [curve for curve in curves_of(result) if curve.points and curve.unit == "ns"]
    points = [dict(curve.points) for curve in shown]
    names = tuple(f"{label(curve)}, ms" for curve in shown)
    present = [p for p in (*NAMED, 100.0) if any(p in each for each in points)]
    rows = [(f"p{p:g}" if p < 100 else "max", *(_ms(each.get(p)) for each in points)) for p in present]
    return Columns(names, rows)


def _ps(result: Result, name: str) -> list[float]:
    return sorted({each.p for point in result.timeline for each in getattr(point, name)})


def _slice(point: TimePoint, wanted: list[tuple[str, float]]) -> tuple[str, ...]:
    counts = (point.sent, point.completed, point.failed, point.in_flight, point.output_tokens)
    values = (_value(getattr(point, name), p) for name, p in wanted)
    return (duration(point.start_s), *(f"{count:,}" for count in counts), *map(_ms, values))


def _value(percentiles: tuple[Percentile, ...], p: float) -> float | None:
    return next((each.value for each in percentiles if each.p == p), None)


def request_rows(result: Result) -> Iterator[tuple[str, tuple[str, ...]]]:
    """CSS class (f failed, u not counted) and cells of each request."""
    for row in result.requests:
        yield ("f" if failed(row) else "" if row.measured else "u"), _cells(row)


def _cells(row: RequestRow) -> tuple[str, ...]:
    outcome = f"{row.outcome} {row.detail}".strip()
    lag = MISSING if row.schedule_lag is None else f"{row.schedule_lag / 1e6:.3f}"
    tokens = (MISSING if n is None else str(n) for n in (row.prompt_tokens, row.output_tokens))
    times = (_ms(row.ttft), MISSING if row.tpot is None else f"{row.tpot / 1e6:.2f}", _ms(row.e2e), lag)
    return (
        str(row.index),
        f"{row.start_s:.3f}",
        one_line(outcome),
        *tokens,
        *times,
        _short(one_line(row.message)),
    )


def _short(text: str) -> str:
    """The table of errors has a whole message of each kind."""
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]} …"


def _ms(value: float | None) -> str:
    return MISSING if value is None else grouped(f"{value / 1e6:.1f}")


def health(result: Result) -> Iterator[tuple[str, str]]:
    """Name and value of each of the harness's own figures."""
    own = result.health
    yield "Event-loop lag p99, max", _pair(own.loop_lag_p99, own.loop_lag_max)
    if own.reader_lag_p99 is not None:
        yield "Reading thread's lag p99, max", _pair(own.reader_lag_p99, own.reader_lag_max)
    if own.receive_delay_p99 is not None:
        name = f"Receipt by the kernel to stamp p99, max ({own.num_receive_delays:,} reads)"
        yield name, _pair(own.receive_delay_p99, own.receive_delay_max)
    if own.schedule_lag_p99 is not None:
        yield "Sent late by (connecting left out) p99, max", _pair(own.schedule_lag_p99, own.schedule_lag_max)
    yield "Garbage collection max, total", _pair(own.gc_pause_max, own.gc_pause_total)
    yield "CPU", f"{significant(own.cpu_share, 3)} cores"
    for number, worker in enumerate(own.workers, start=1):
        yield (
            f"Worker {number} of {len(own.workers)}: requests, CPU, event-loop lag p99",
            (
                f"{worker.num_requests:,}, {significant(worker.cpu_share, 3)} cores, "
                f"{quantity(worker.loop_lag_p99, 'ns', 3)}"
            ),
        )
    share = f" ({quantity(own.coalesced_chunks / own.num_chunks, 'share', 3)})" if own.num_chunks else ""
    yield "Chunks that shared a read", f"{own.coalesced_chunks:,} of {own.num_chunks:,}{share}"
    yield "Clock resolution", quantity(own.clock_resolution, "ns")
    yield "Arrivals dropped", f"{own.dropped_arrivals:,}"
    if own.planned_rate is not None:
        yield (
            "Rate planned, achieved",
            f"{quantity(own.planned_rate, '')}, {quantity(own.achieved_rate, 'requests/s')}",
        )


def _pair(one: float | None, other: float | None) -> str:
    return f"{quantity(one, 'ns', 3)}, {quantity(other, 'ns', 3)}"


def flat(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """A nested dictionary as dotted names and values."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            yield f"{prefix}{name}", ", ".join(map(str, value))
        else:
            yield f"{prefix}{name}", MISSING if value is None else str(value)
