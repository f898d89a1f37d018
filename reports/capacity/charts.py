"""The knee: latency, what was achieved, and how sure it is that the objectives hold, against load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports.formats.html.chart import Chart, Mark, Series, dots, level, line, rug
from reports.formats.html.scales import Linear, Log, around, from_zero
from reports.units import quantity, scale_of, significant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reports.capacity.search import Capacity, Probe
    from reports.formats.html.scales import Scale

_TIMES: Final = (("ttft", "s1", "TTFT p95"), ("tpot", "s2", "TPOT p95"), ("e2e", "s3", "end to end p95"))
_COLOURS: Final = {"PASS": "s3", "FAIL": "bad", "INCONCLUSIVE": "limit", "INVALID": "s4"}


def charts(capacity: Capacity) -> list[Chart]:
    """Those that there are probes for."""
    probes = sorted(capacity.probes, key=lambda each: (each.load, each.number))
    if not probes:
        return []
    x = around(probes[0].load, probes[-1].load)
    found = (_knee(capacity, x), _latency(capacity, probes, x), _achieved(capacity, probes, x))
    return [chart for chart in found if chart is not None]


def _knee(capacity: Capacity, x: Log) -> Chart | None:
    """The chance curve with each verdict as a stroke on the axis."""
    if not capacity.knee:
        return None
    y = Linear(0.0, 1.0)
    curve = [(x.at(point.load), point.chance) for point in capacity.knee]
    verdicts = {
        word: [x.at(probe.load) for probe in capacity.probes if probe.verdict.value == word]
        for word in _COLOURS
    }
    return Chart(
        name="knee",
        title="Do the objectives hold?",
        summary=f"The chance that the objectives hold, against {capacity.key}. {capacity.sentence}",
        y_title="%",
        x_title=f"{capacity.key}, {capacity.unit}",
        x_ticks=x.ticks(),
        y_ticks=y.ticks(0.01),
        marks=(
            Mark("line", "s1", line(curve)),
            *(Mark("rug", _COLOURS[word], rug(places)) for word, places in verdicts.items() if places),
        ),
        series=(
            Series(
                "chance that they hold",
                "s1",
                "line",
                tuple(point.chance for point in capacity.knee),
                tuple(quantity(point.chance, "share", 3) for point in capacity.knee),
            ),
            *(Series(f"probe: {word}", _COLOURS[word], "rug") for word, places in verdicts.items() if places),
        ),
        xs=tuple(place for place, _ in curve),
        x_texts=tuple(f"{significant(point.load, 3)} {capacity.unit}" for point in capacity.knee),
        shades=_interval(capacity, x),
    )


def _latency(capacity: Capacity, probes: Sequence[Probe], x: Log) -> Chart | None:
    columns = {name: [probe.p95(name) for probe in probes] for name, _, _ in _TIMES}
    known = [value for column in columns.values() for value in column if value]
    if not known:
        return None
    limits = _limits(probes)
    y = around(min(known), max([*known, *(limit for limit in limits if limit < 3 * max(known))]))
    unit = scale_of("ns", min(known))
    shown = [each for each in _TIMES if any(columns[each[0]])]
    return Chart(
        name="latency",
        title="Latency by load",
        summary=f"95th percentiles of {len(probes)} probes, between {quantity(min(known), 'ns', 3)} and "
        f"{quantity(max(known), 'ns', 3)}.",
        y_title=unit.label,
        x_title=f"{capacity.key}, {capacity.unit}",
        x_ticks=x.ticks(),
        y_ticks=y.ticks(unit.divisor),
        marks=(
            *(mark for name, colour, _ in shown for mark in _points(probes, columns[name], x, y, colour)),
            *(Mark("dash", "limit", level(y.at(limit))) for limit in limits if limit <= y.high),
        ),
        series=(
            *(_series(label, colour, columns[name], y) for name, colour, label in shown),
            *((Series("limit of an objective", "limit", "dash"),) if limits else ()),
        ),
        xs=tuple(x.at(probe.load) for probe in probes),
        x_texts=_heads(capacity, probes),
        shades=_interval(capacity, x),
    )


def _achieved(capacity: Capacity, probes: Sequence[Probe], x: Log) -> Chart | None:
    gets: tuple[tuple[str, str, Callable[[Probe], float | None]], ...] = (
        ("answered", "s1", lambda probe: probe.achieved),
        ("goodput", "s3", lambda probe: probe.goodput),
    )
    columns = [(label, colour, [get(probe) for probe in probes]) for label, colour, get in gets]
    known = [value for _, _, column in columns for value in column if value]
    if not known:
        return None
    y = from_zero(max(known))
    return Chart(
        name="achieved",
        title="Answered by load",
        summary=f"Requests answered per second, {significant(max(known), 3)} at most; goodput counts those "
        "that met every objective of single requests.",
        y_title="requests/s",
        x_title=f"{capacity.key}, {capacity.unit}",
        x_ticks=x.ticks(),
        y_ticks=y.ticks(),
        marks=tuple(m for _, colour, column in columns for m in _points(probes, column, x, y, colour)),
        series=tuple(
            _series(label, colour, column, y, "requests/s")
            for label, colour, column in columns
            if any(column)
        ),
        xs=tuple(x.at(probe.load) for probe in probes),
        x_texts=_heads(capacity, probes),
        shades=_interval(capacity, x),
    )


def _points(
    probes: Sequence[Probe], column: Sequence[float | None], x: Scale, y: Scale, colour: str
) -> tuple[Mark, Mark]:
    points = [(x.at(p.load), y.at(value)) for p, value in zip(probes, column, strict=True) if value]
    return Mark("thin", colour, line(points)), Mark("dots", colour, dots(points))


def _series(label: str, colour: str, column: Sequence[float | None], y: Scale, unit: str = "ns") -> Series:
    ys = tuple(None if not value else y.at(value) for value in column)
    return Series(label, colour, "thin", ys, tuple(quantity(value, unit, 3) for value in column))


def _heads(capacity: Capacity, probes: Sequence[Probe]) -> tuple[str, ...]:
    return tuple(f"{significant(p.load, 3)} {capacity.unit}: {p.verdict}" for p in probes)


def _limits(probes: Sequence[Probe]) -> list[float]:
    """Of objectives on times that are drawn."""
    drawn = [name for name, _, _ in _TIMES]
    rules = probes[0].rules
    return sorted({rule.limit for rule in rules if rule.metric in drawn and rule.unit == "ns"})


def _interval(capacity: Capacity, x: Log) -> tuple[tuple[float, float], ...]:
    if not capacity.low or not capacity.high:
        return ()
    return ((x.at(capacity.low), x.at(capacity.high)),)
