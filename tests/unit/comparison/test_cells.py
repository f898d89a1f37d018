"""The sample of a run: bounded, and without loss where it matters."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.comparison import sample_of_times
from harness.comparison.pairing import paired
from harness.comparison.sample import MAX_CELLS
from harness.comparison.sampling import cell_size
from reports.histogram import Histogram


@pytest.mark.parametrize("num", [1, 2_048, 2_049, 5_000, 1_000_000])
def test_a_run_has_a_bounded_number_of_cells(num: int) -> None:
    size = cell_size(num)
    assert num / size <= MAX_CELLS
    assert size == 1 or num / (size / 2) > MAX_CELLS


def test_all_cells_together_are_the_histogram_of_the_report() -> None:
    times = np.random.default_rng(1).lognormal(18, 0.5, 5_000)
    units = np.rint(times / 1e3).astype(np.int64)
    whole = Histogram()
    whole.record_many(units)
    cells = sample_of_times(times).series["e2e"]
    assert (cells.histogram.counts == whole.counts).all()
    for p in (50.0, 99.0, 100.0):
        assert cells.histogram.percentile(p) == whole.percentile(p)
    assert cells.sums_by_cell.sum() == units.sum()


def test_cells_of_two_sizes_come_beside_each_other() -> None:
    rng = np.random.default_rng(1)
    short, long = (
        sample_of_times(rng.lognormal(18, 0.5, 1_500)),
        sample_of_times(rng.lognormal(18, 0.5, 6_000)),
    )
    one, other = paired(short, long)
    assert one.per_cell == other.per_cell == 4
    assert one.series["e2e"].num_cells == other.series["e2e"].num_cells
    assert one.series["e2e"].counts_by_cell[:375].tolist() == [4] * 375
    assert (one.series["e2e"].histogram.counts == short.series["e2e"].histogram.counts).all()
