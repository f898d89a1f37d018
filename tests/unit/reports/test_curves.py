"""The percentile curve is made of nearest-rank percentiles and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from reports.curves import curve
from reports.histogram import Histogram


@pytest.mark.parametrize("n", [1, 2, 10, 1_000, 50_000])
def test_every_point_is_a_percentile(n: int) -> None:
    histogram = Histogram()
    histogram.record_many(np.random.default_rng(n).lognormal(10, 1, n).astype(np.int64))
    points = curve(histogram, "ttft", "response", "ns", 1e3).points
    assert len(points) <= 250
    assert [p for p, _ in points] == sorted({p for p, _ in points})
    assert all(value == histogram.percentile(p) * 1e3 for p, value in points)
    assert points[0][1] == pytest.approx(histogram.minimum * 1e3, rel=1e-3)
    assert points[-1] == (100.0, histogram.maximum * 1e3)
    if n >= 1_000:
        assert {50.0, 90.0, 95.0, 99.0, 99.9} <= {p for p, _ in points}


def test_no_percentile_is_named_that_n_samples_do_not_have() -> None:
    histogram = Histogram()
    histogram.record_many(np.arange(1, 51))
    assert {p for p, _ in curve(histogram, "itl", None, "ns").points if p in (99.0, 99.9)} == set()


def test_an_empty_histogram_has_an_empty_curve() -> None:
    assert curve(Histogram(), "ttft", None, "ns").points == ()
