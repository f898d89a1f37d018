"""How far the figures of a single run, or of a pair of runs, may be from the truth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from harness.comparison.blocks import dependence
from harness.comparison.effect import Spread
from harness.comparison.resampling import Draws, drawn, influence, log, plan_of, ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.comparison.figure import Figure
    from harness.comparison.sample import Cells, FloatArray, Sample

MIN_BEYOND: Final = 10
"""Values beyond a percentile, below which it has no interval."""
MIN_CLUSTERS: Final = 3
"""Likewise, of clusters of cells."""
_DEPENDENT: Final = (
    "neighbouring requests hang together over too large a part of the run for its own spread to be known; "
    "run several times as long, or several times"
)
_CLUSTERED: Final = (
    "what lies beyond {statistic} came in a few clusters, too few to know its spread; "
    "run several times as long, or several times"
)
_SHORT: Final = "the run has too few slices of time for the spread of a rate; run longer"


class WithinRun:
    """Resampled figures of one run, or of the change between two that sent the same requests.

    Args:
        samples: One, or two with the same cells.
        figures: Those that will be asked for.
        seed: Of the draws.
        times: How often to draw.
    """

    def __init__(self, samples: tuple[Sample, ...], figures: Iterable[Figure], seed: int, times: int) -> None:
        self._samples = samples
        self._times = times
        self._rng = np.random.default_rng(seed)
        self._draws: dict[Figure, Draws] = {}
        self._reasons: dict[Figure, str] = {}
        wanted = tuple(figures)
        for metric in dict.fromkeys(figure.metric for figure in wanted if figure.statistic is not None):
            self._draw_metric([figure for figure in wanted if figure.metric == metric])
        for figure in wanted:
            if figure.statistic is None and not figure.is_share:
                self._draw_rate(figure)

    def spread(self, figure: Figure) -> tuple[Spread | None, str]:
        """Of the logarithm of a figure, or of its ratio; None with the reason where it can't be known."""
        draws = self._draws.get(figure)
        if draws is None:
            return None, self._reasons.get(figure, _DEPENDENT)
        return Spread(draws.variance, draws.blocks - 1), ""

    def _draw_metric(self, figures: Sequence[Figure]) -> None:
        metric = figures[0].metric
        if not all(metric in sample.series for sample in self._samples):
            return
        statistics = [figure.statistic for figure in figures if figure.statistic is not None]
        series = [sample.series[metric] for sample in self._samples]
        used = sum((cells.counts_by_cell for cells in series), np.zeros(series[0].num_cells))
        influences = [influence(cells, statistic) for cells in series for statistic in statistics]
        plan = plan_of(self._rng, influences, used, self._times)
        if plan is None:
            return
        logs = [{s: log(values) for s, values in drawn(cells, statistics, plan).items()} for cells in series]
        for figure in figures:
            assert figure.statistic is not None
            if _too_dependent(figure, series):
                self._reasons[figure] = _CLUSTERED.format(statistic=figure.statistic)
                continue
            self._draws[figure] = Draws(_change([each[figure.statistic] for each in logs]), plan.blocks)

    def _draw_rate(self, figure: Figure) -> None:
        counts = _counts_over_time(self._samples, figure.metric)
        if counts is None:
            self._reasons[figure] = _SHORT
            return
        plan = plan_of(
            self._rng, [each - each.mean() for each in counts], np.ones(counts[0].size), self._times
        )
        if plan is not None:
            weights = plan.weights
            logs = [log(ratio(weights @ each, weights.sum(axis=1).astype(np.float64))) for each in counts]
            self._draws[figure] = Draws(_change(logs), plan.blocks)


def _too_dependent(figure: Figure, series: Sequence[Cells]) -> bool:
    """Whether the requests beyond a percentile came in a handful of clusters."""
    if figure.statistic is None or figure.share_beyond is None:
        return False
    for cells in series:
        by_cell = influence(cells, figure.statistic)
        used = cells.counts_by_cell > 0
        clusters = int(used.sum()) * figure.share_beyond / dependence(by_cell[used])
        if clusters < MIN_CLUSTERS:
            return True
    return False


def _change(logs: Sequence[FloatArray]) -> FloatArray:
    return logs[0] if len(logs) == 1 else logs[1] - logs[0]


def _counts_over_time(samples: tuple[Sample, ...], name: str) -> list[FloatArray] | None:
    """Counts in slices, of a pair in the slices that both have; None where they don't match."""
    slices = [sample.slices for sample in samples]
    if any(name not in each.counts for each in slices) or len({each.length_s for each in slices}) > 1:
        return None
    first = max(each.first for each in slices)
    parts = [np.array(each.counts[name][first - each.first :], np.float64) for each in slices]
    shortest = min(part.size for part in parts)
    return [part[:shortest] for part in parts] if shortest else None


def design_effect(name: str, samples: tuple[Sample, ...]) -> float:
    """How many requests of these runs tell as much of a share as one independent request would, at least 1.

    By long batches of requests, and by run where there are several.
    """
    counts = [np.array(sample.shares[name], np.float64) for sample in samples]
    count, n = (sum(float(each[row].sum()) for each in counts) for row in (0, 1))
    share = count / n
    if not 0 < share < 1:
        return 1.0
    batches = [batch for each in counts for batch in _batches(each)]
    if len(batches) < 2:
        return 1.0
    residuals = np.array([above - share * below for above, below in batches])
    expected = share * (1 - share) * n / len(batches)
    found = float(np.sum(residuals**2)) / (len(batches) - 1) / expected
    return max(1.0, found) if math.isfinite(found) else 1.0


def _batches(counts: FloatArray, num: int = 20) -> list[tuple[float, float]]:
    edges = np.linspace(0, counts.shape[1], min(num, counts.shape[1]) + 1).astype(int)[:-1]
    above, below = (np.add.reduceat(row, edges) for row in counts)
    return [(float(x), float(y)) for x, y in zip(above, below, strict=True) if y]
