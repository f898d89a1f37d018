"""How far the numbers of a single run may be from the truth, by drawing its blocks again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from harness.comparison.blocks import MIN_BLOCKS, block_length, resample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.comparison.sample import Cells, FloatArray, IntArray
    from harness.sla.rule import Statistic

TIMES: Final = 2_000
_AT_ONCE: Final = 250


class Draws(NamedTuple):
    """Numbers from resampled runs.

    Attributes:
        values: One for each time.
        blocks: How many blocks a run was made of.
    """

    values: FloatArray
    blocks: float

    @property
    def variance(self) -> float:
        """Of the number, with what few blocks leave out."""
        values = self.values[np.isfinite(self.values)]
        return float(np.var(values)) * self.blocks / (self.blocks - 1) if values.size > 1 else 0.0


class Plan(NamedTuple):
    """Which neighbours are drawn how often.

    Attributes:
        first: Number of the first cell that is drawn from.
        weights: Times x cells.
        blocks: How many blocks a run is made of.
    """

    first: int
    weights: IntArray
    blocks: float


def plan_of(
    rng: np.random.Generator, influences: Sequence[FloatArray], used: FloatArray, times: int
) -> Plan | None:
    """Blocks as long as the most dependent of some statistics needs; None where fewer than six would be left.

    Args:
        rng: Of the draws.
        influences: What each cell adds to each statistic.
        used: Number of requests in each cell: those outside the first and the last used one are left out.
        times: How often to draw.
    """
    inside = np.flatnonzero(used)
    if inside.size < MIN_BLOCKS:
        return None
    first, last = int(inside[0]), int(inside[-1])
    num = last - first + 1
    length = max(block_length(influence[first : last + 1]) for influence in influences)
    if length * MIN_BLOCKS > num:
        return None
    return Plan(first, resample(rng, num, length, times), num / length)


def influence(cells: Cells, statistic: Statistic) -> FloatArray:
    """What each cell adds to a percentile (its excess of values beyond it) or to the mean."""
    counts = cells.counts_by_cell
    if statistic.p is None:
        centred: FloatArray = cells.sums_by_cell - cells.sums_by_cell.sum() / counts.sum() * counts
        return centred
    value = cells.histogram.percentile(statistic.p)
    beyond = cells.beyond(cells.histogram.layout.index(value))
    return np.asarray(beyond - beyond.sum() / counts.sum() * counts)


def drawn(cells: Cells, statistics: Sequence[Statistic], plan: Plan) -> dict[Statistic, FloatArray]:
    """Each statistic of each resampled run, in histogram units; not a number where a run came out empty."""
    weights = plan.weights
    matrix, highs = _matrix(cells, plan)
    parts: dict[Statistic, list[FloatArray]] = {statistic: [] for statistic in statistics}
    wanted = [statistic for statistic in statistics if statistic.p is not None]
    for begin in range(0, weights.shape[0] if wanted else 0, _AT_ONCE):
        counts = np.cumsum(matrix @ weights[begin : begin + _AT_ONCE].T, axis=0)
        for statistic in wanted:
            parts[statistic].append(_percentiles(counts, highs, statistic.p or 0.0))
    found = {statistic: np.concatenate(each) for statistic, each in parts.items() if each}
    for statistic in statistics:
        if statistic.p is None:
            inside = slice(plan.first, plan.first + weights.shape[1])
            found[statistic] = ratio(
                weights @ cells.sums_by_cell[inside], weights @ cells.counts_by_cell[inside]
            )
    return found


def _matrix(cells: Cells, plan: Plan) -> tuple[Any, FloatArray]:
    """Counts, buckets in use x cells, and the high end of each bucket."""
    from scipy.sparse import csr_matrix

    cell, bucket, count = cells.entries
    used, row = np.unique(bucket, return_inverse=True)
    shape = (used.size, plan.weights.shape[1])
    highs = np.minimum(cells.histogram.layout.highs(used), cells.maximum).astype(np.float64)
    return csr_matrix((count, (row, cell - plan.first)), shape=shape), highs


def _percentiles(running: IntArray, highs: FloatArray, p: float) -> FloatArray:
    """The nearest-rank percentile of each column of running counts."""
    total = running[-1]
    ranks = np.ceil(p / 100 * total - 1e-9)
    place = np.minimum((running < ranks).sum(axis=0), highs.size - 1)
    return np.where(total > 0, highs[place], np.nan)


def ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """``above / below``; not a number where there is nothing below."""
    found: FloatArray = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return found


def log(values: FloatArray) -> FloatArray:
    """Natural logarithm; not a number of 0."""
    logs: FloatArray = np.log(values, out=np.full(values.shape, np.nan), where=values > 0)
    return logs
