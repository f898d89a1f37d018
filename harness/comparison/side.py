"""One side of a comparison: a run, or several of the same kind."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import msgspec

from harness.comparison.past_run import PastRun
from harness.recorder import step
from reports.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.comparison.figure import Figure
    from harness.comparison.sample import Sample

NS: Final = step("ns")


class Side(msgspec.Struct, frozen=True, dict=True):
    """Runs that stand together.

    Attributes:
        label: What the reader calls it: a folder's or a baseline's name.
        runs: At least one.
    """

    label: str
    runs: tuple[PastRun, ...]

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Of the runs."""
        return tuple(run.sample for run in self.runs)

    @functools.cached_property
    def histograms(self) -> dict[str, Histogram]:
        """All runs' values together, by metric: percentiles are never averaged."""
        names = {name for sample in self.samples for name in sample.series}
        return {name: merged(self.samples, name) for name in sorted(names)}

    def value(self, figure: Figure) -> float | None:
        """The figure over all runs, in its unit; None where there is no sample."""
        return value_of(figure, self.samples, self.histograms.get(figure.metric))

    def num_samples(self, figure: Figure) -> int:
        """How many values are behind it."""
        if figure.statistic is not None:
            histogram = self.histograms.get(figure.metric)
            return 0 if histogram is None else histogram.n
        if figure.is_share:
            return share_counts(figure.metric, self.samples)[1]
        return sum(sample.num_requests for sample in self.samples)

    def reason(self, figure: Figure) -> str:
        """Why the figure has no value."""
        reasons = (sample.reasons.get(figure.metric) for sample in self.samples)
        return next((reason for reason in reasons if reason), "no sample")

    def client_error(self, figure: Figure) -> float:
        """The largest of the runs' own errors of that metric, ns; 0 where time doesn't enter."""
        return max(sample.client_errors.get(figure.metric, 0.0) for sample in self.samples)


def value_of(figure: Figure, samples: Iterable[Sample], histogram: Histogram | None) -> float | None:
    """The figure of runs whose values of that metric are in ``histogram``.

    A rate per second of several runs is their mean, a share that of all their requests together.
    """
    if figure.statistic is not None:
        if histogram is None or not histogram.n:
            return None
        if figure.statistic.p is not None:
            return NS * histogram.percentile(figure.statistic.p)
        series = (sample.series.get(figure.metric) for sample in samples)
        return NS * sum(float(cells.sums_by_cell.sum()) for cells in series if cells) / histogram.n
    samples = tuple(samples)
    if figure.is_share:
        count, n = share_counts(figure.metric, samples)
        return count / n if n else None
    rates = [sample.rates.get(figure.metric) for sample in samples]
    known = [rate for rate in rates if rate is not None]
    return sum(known) / len(known) if len(known) == len(rates) else None


def merged(samples: Iterable[Sample], metric: str) -> Histogram:
    """The values of a metric of all runs."""
    whole = Histogram()
    for sample in samples:
        if metric in sample.series:
            whole.merge(sample.series[metric].histogram)
    return whole


def share_counts(name: str, samples: Iterable[Sample]) -> tuple[int, int]:
    """What is above and below the line of a share, over all runs."""
    found = [sample.shares.get(name, ([], [])) for sample in samples]
    return sum(sum(above) for above, _ in found), sum(sum(below) for _, below in found)
