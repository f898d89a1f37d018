"""Token rates over time by the server's own counters: those of requests that go on are in them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from reports.formats.html.chart import Chart, Mark, Series, stairs
from reports.formats.html.scales import from_zero
from reports.formats.html.time_charts import frame_of
from reports.units import duration, significant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.formats.html.scales import Linear
    from reports.formats.html.time_charts import Frame
    from reports.result import Result
    from reports.server_telemetry import ServerPoint


class _Counter(NamedTuple):
    field: str
    label: str
    colour: str
    shape: str


class _Stretch(NamedTuple):
    """Between two looks, s, and what was counted in it per second."""

    start_s: float
    end_s: float
    rate: float


_COUNTERS: Final = (
    _Counter("generation_tokens", "generated", "s2", "line"),
    _Counter("prompt_tokens", "read", "s3", "thin"),
)


def server_tokens(result: Result) -> Chart | None:
    """Tokens generated and prompt tokens read; None where the server doesn't count."""
    points = () if result.server is None else result.server.points
    points = tuple(each for i, each in enumerate(points) if i == 0 or points[i - 1].at_s < result.duration_s)
    counted = {counter: rates for counter in _COUNTERS if (rates := _rates(points, counter.field))}
    if not counted:
        return None
    highest = {counter.label: max(each.rate for each in rates) for counter, rates in counted.items()}
    y, frame = from_zero(max(highest.values())), frame_of(result)
    most = ", ".join(f"{label} {significant(rate, 3)}" for label, rate in highest.items())
    looks = next(iter(counted.values()))
    return Chart(
        name="server-tokens",
        title="Tokens in the server",
        summary=f"Tokens per second by the server's own counters; at most {most}.",
        y_title="tokens/s",
        x_title="seconds since start",
        x_ticks=frame.x.ticks(),
        y_ticks=y.ticks(),
        marks=tuple(_mark(frame, y, counter, rates) for counter, rates in counted.items()),
        series=tuple(_series(y, counter, rates) for counter, rates in counted.items()),
        xs=tuple(frame.x.at((each.start_s + each.end_s) / 2) for each in looks),
        x_texts=tuple(f"{duration(each.start_s)} to {duration(each.end_s)}" for each in looks),
        shades=frame.shades,
    )


def _rates(points: Sequence[ServerPoint], field: str) -> list[_Stretch]:
    known = [(point.at_s, value) for point in points if (value := getattr(point, field)) is not None]
    return [
        _Stretch(start, end, (after - before) / (end - start))
        for (start, before), (end, after) in pairwise(known)
        if end > start >= 0
    ]


def _mark(frame: Frame, y: Linear, counter: _Counter, rates: Sequence[_Stretch]) -> Mark:
    steps = [(frame.x.at(each.start_s), y.at(each.rate)) for each in rates]
    end = (frame.x.at(rates[-1].end_s), steps[-1][1])
    return Mark(counter.shape, counter.colour, stairs([*steps, end]))


def _series(y: Linear, counter: _Counter, rates: Sequence[_Stretch]) -> Series:
    ys = tuple(y.at(each.rate) for each in rates)
    texts = tuple(f"{significant(each.rate, 3)} tokens/s" for each in rates)
    return Series(counter.label, counter.colour, counter.shape, ys, texts)
