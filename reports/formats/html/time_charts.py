"""The run over time: latencies as percentile bands; requests, tokens and requests in flight."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from reports import view
from reports.formats.html.chart import Chart, Mark, Point, Series, band, bars, level, line, stairs, under
from reports.formats.html.scales import Linear, from_zero
from reports.units import duration, quantity, scale_of, significant

if TYPE_CHECKING:
    from collections.abc import Callable

    from reports.result import Percentile, Result, TimePoint

_BRIDGED = 5  # slices


class Frame(NamedTuple):
    """What all charts over time share: the horizontal axis and the places on it."""

    x: Linear
    middles: tuple[float, ...]
    heads: tuple[str, ...]
    shades: tuple[tuple[float, float], ...]


def time_charts(result: Result) -> list[Chart]:
    """Those for which there is something to draw."""
    if not result.timeline:
        return []
    frame = frame_of(result)
    latencies = (
        _bands(result, frame, "ttft", lambda point: point.ttft),
        _bands(result, frame, "itl", lambda point: point.itl),
        _bands(result, frame, "tpot", lambda point: point.tpot),
    )
    counts = (_requests(result, frame), _tokens(result, frame), _in_flight(result, frame))
    return [chart for chart in (*latencies, *counts) if chart is not None]


def frame_of(result: Result) -> Frame:
    """The horizontal axis: seconds since the start of the run, time outside the window shaded."""
    ends = [point.start_s + point.length_s for point in result.timeline]
    x = Linear(0.0, max([*ends, result.duration_s, 1e-3]))
    start, end = (x.at(edge) for edge in result.window_s)
    return Frame(
        x,
        tuple(x.at(point.start_s + point.length_s / 2) for point in result.timeline),
        tuple(f"{duration(p.start_s)} to {duration(p.start_s + p.length_s)}" for p in result.timeline),
        tuple(edge for edge in ((0.0, start), (end, 1.0)) if edge[1] - edge[0] > 0.002),
    )


def _bands(
    result: Result, frame: Frame, name: str, get: Callable[[TimePoint], tuple[Percentile, ...]]
) -> Chart | None:
    found = [{each.p: each.value for each in get(point)} for point in result.timeline]
    ps = sorted({p for values in found for p in values})
    if not ps:
        return None
    highest = max(value for values in found for value in values.values())
    limits = [r.limit for r in result.rules if r.metric == name and r.unit == "ns" and r.limit <= 2 * highest]
    y, unit = from_zero(max([highest, *limits])), scale_of("ns", highest)
    drawn = _drawn(found)
    places = {p: [_point(frame, i, y, found[i].get(p)) for i in drawn] for p in ps}
    return Chart(
        name=f"{name}-time",
        title=f"{view.title(name)} over time",
        summary=f"{view.title(name)} per slice of the run, percentiles {', '.join(f'p{p:g}' for p in ps)}; "
        f"highest {quantity(highest, 'ns', 3)}.",
        y_title=unit.label,
        x_title="seconds since start",
        x_ticks=frame.x.ticks(),
        y_ticks=y.ticks(unit.divisor),
        marks=(*_band_marks(places), *(Mark("dash", "limit", level(y.at(limit))) for limit in limits)),
        series=(
            *(_band_series(p, ps, [values.get(p) for values in found], y) for p in ps),
            *((Series("limit", "limit", "dash"),) if limits else ()),
        ),
        xs=frame.middles,
        x_texts=frame.heads,
        shades=frame.shades,
    )


def _drawn(found: list[dict[float, float]]) -> list[int]:
    """The slices that are drawn: all but gaps of a few, which the line bridges."""
    known = [i for i, values in enumerate(found) if values]
    short = ((a, b) for a, b in itertools.pairwise(known) if b - a <= _BRIDGED)
    bridged = {i for left, right in short for i in range(left + 1, right)}
    return [i for i in range(len(found)) if i not in bridged]


def _point(frame: Frame, i: int, y: Linear, value: float | None) -> Point | None:
    return None if value is None else (frame.middles[i], y.at(value))


def _band_marks(places: dict[float, list[Point | None]]) -> list[Mark]:
    ps = list(places)
    areas = [Mark("area", "s1", band(places[low], places[high])) for low, high in itertools.pairwise(ps)]
    lines = [Mark("line" if i == 0 else "thin", "s1", line(places[p])) for i, p in enumerate(ps)]
    return areas + lines


def _band_series(p: float, ps: list[float], values: list[float | None], y: Linear) -> Series:
    ys = tuple(None if value is None else y.at(value) for value in values)
    return Series(
        f"p{p:g}", "s1", "line" if p == ps[0] else "thin", ys, tuple(quantity(v, "ns") for v in values)
    )


def _requests(result: Result, frame: Frame) -> Chart:
    rates = {
        name: [getattr(point, name) / point.length_s for point in result.timeline]
        for name in ("sent", "completed", "failed")
    }
    y = from_zero(max(max(values) for values in rates.values()))
    half = frame.x.at(result.timeline[0].length_s) * 0.4
    failed = bars((m - half, m + half, y.at(v)) for m, v in zip(frame.middles, rates["failed"], strict=True))
    marks = (
        Mark("bars", "bad", failed),
        Mark("thin", "s1", line(_points(frame, y, rates["sent"]))),
        Mark("line", "s3", line(_points(frame, y, rates["completed"]))),
    )
    shapes = {"sent": ("s1", "thin"), "completed": ("s3", "line"), "failed": ("bad", "bars")}
    return Chart(
        name="requests-time",
        title="Requests over time",
        summary=", ".join(
            f"{sum(getattr(point, name) for point in result.timeline):,} {name}" for name in rates
        )
        + ".",
        y_title="requests/s",
        x_title="seconds since start",
        x_ticks=frame.x.ticks(),
        y_ticks=y.ticks(),
        marks=marks,
        series=tuple(
            _rate_series(name, *shapes[name], values, y, "requests/s") for name, values in rates.items()
        ),
        xs=frame.middles,
        x_texts=frame.heads,
        shades=frame.shades,
    )


def _tokens(result: Result, frame: Frame) -> Chart:
    rates = [point.output_tokens / point.length_s for point in result.timeline]
    return _stairs(result, frame, "tokens-time", "Output tokens over time", rates, "tokens/s", "s2")


def _in_flight(result: Result, frame: Frame) -> Chart:
    counts = [float(point.in_flight) for point in result.timeline]
    return _stairs(result, frame, "in-flight-time", "Requests in flight", counts, "requests", "s4")


def _stairs(
    result: Result, frame: Frame, name: str, title: str, values: list[float], unit: str, colour: str
) -> Chart:
    y = from_zero(max(values))
    steps = [(frame.x.at(point.start_s), y.at(v)) for point, v in zip(result.timeline, values, strict=True)]
    last = result.timeline[-1]
    steps.append((frame.x.at(last.start_s + last.length_s), steps[-1][1]))
    return Chart(
        name=name,
        title=title,
        summary=f"{title}: at most {significant(max(values), 3)} {unit}.",
        y_title=unit,
        x_title="seconds since start",
        x_ticks=frame.x.ticks(),
        y_ticks=y.ticks(),
        marks=(Mark("area", colour, under(steps)), Mark("line", colour, stairs(steps))),
        series=(_rate_series("", colour, "line", values, y, unit),),
        xs=frame.middles,
        x_texts=frame.heads,
        shades=frame.shades,
    )


def _points(frame: Frame, y: Linear, values: list[float]) -> list[Point | None]:
    return [(middle, y.at(value)) for middle, value in zip(frame.middles, values, strict=True)]


def _rate_series(label: str, colour: str, shape: str, values: list[float], y: Linear, unit: str) -> Series:
    ys, texts = tuple(map(y.at, values)), tuple(f"{significant(value, 3)} {unit}" for value in values)
    return Series(label, colour, shape, ys, texts)
