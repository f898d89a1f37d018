"""The histogram against its own promises and against the hdrhistogram library recording one by one."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.hdr_codec import decode, encode
from reports.hdr_errors import NoSamplesError, UnlikeHistogramsError, ValueOutOfRangeError
from reports.histogram import Histogram
from reports.order_statistics import interval_ranks, nearest_rank

HOUR_US = 3_600_000_000
values = st.lists(
    st.one_of(st.integers(0, 3_000), st.integers(0, 2_000_000), st.integers(0, HOUR_US)),
    min_size=1,
    max_size=60,
)


def histogram_of(samples: list[int] | np.ndarray) -> Histogram:
    histogram = Histogram()
    histogram.record_many(np.asarray(samples, dtype=np.int64))
    return histogram


@given(values)
@settings(max_examples=150, deadline=None)
def test_bulk_recording_equals_the_library_one_by_one(samples: list[int]) -> None:
    oracle = HdrHistogram(1, HOUR_US, 3)
    for sample in samples:
        assert oracle.record_value(sample)
    bulk = histogram_of(samples)
    one_by_one = Histogram()
    for sample in samples:
        one_by_one.record(sample)
    assert encode(bulk) == encode(one_by_one) == oracle.encode().decode()
    assert (bulk.n, bulk.minimum, bulk.maximum, bulk.mean) == (
        len(samples),
        min(samples),
        max(samples),
        sum(samples) / len(samples),
    )


@pytest.mark.parametrize("n", [1, 999, 1_000, 50_000])
def test_both_ways_of_counting_agree(n: int) -> None:
    """Few values are added one by one, many are counted into an array."""
    samples = np.random.default_rng(n).lognormal(10, 3, n).astype(np.int64) % HOUR_US
    one_by_one = Histogram()
    for sample in samples.tolist():
        one_by_one.record(sample)
    assert np.array_equal(histogram_of(samples).counts, one_by_one.counts)


@pytest.mark.parametrize("digits", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("lowest", [1, 1_000, 20_000])
def test_bucket_arithmetic_equals_the_library_at_every_edge(digits: int, lowest: int) -> None:
    highest = (1 << 62) - 1
    oracle = HdrHistogram(lowest, highest, digits)
    layout = Histogram(lowest, highest, digits).layout
    assert layout.length == oracle.counts_len
    edges = sorted({(1 << k) + d for k in range(1, 62) for d in (-1, 0, 1)} | {0, highest})
    assert layout.indices(np.array(edges)).tolist() == [oracle.get_counts_array_index(v) for v in edges]
    for edge in edges:
        index = layout.index(edge)
        assert index == oracle.get_counts_array_index(edge)
        assert layout.low(index) == oracle.get_lowest_equivalent_value(edge) <= edge
        assert layout.high(index) == oracle.get_highest_equivalent_value(edge) >= edge


@given(values, st.floats(0.01, 100))
@settings(deadline=None)
def test_percentile_is_within_a_thousandth_of_the_sample_of_that_rank(samples: list[int], p: float) -> None:
    exact = sorted(samples)[nearest_rank(p, len(samples)) - 1]
    shown = histogram_of(samples).percentile(p)
    assert exact <= shown <= exact + exact // 1_000 + 1


@given(values, st.floats(0.01, 100), st.one_of(st.integers(0, HOUR_US), st.floats(0, 5_000)))
@settings(deadline=None)
def test_count_over_agrees_with_percentile(samples: list[int], p: float, limit: float) -> None:
    """A rule on a percentile and a rule on a share of misses can't contradict each other."""
    histogram = histogram_of(samples)
    for edge in (limit, histogram.percentile(p), histogram.percentile(p) - 0.5):
        met = histogram.count_over(edge) <= histogram.n - nearest_rank(p, histogram.n)
        assert (histogram.percentile(p) <= edge) == met


@given(st.lists(values, min_size=1, max_size=8))
@settings(max_examples=50, deadline=None)
def test_merged_shards_equal_one_histogram_bit_for_bit(shards: list[list[int]]) -> None:
    merged = Histogram()
    for shard in shards:
        merged.merge(histogram_of(shard))
    whole = histogram_of([value for shard in shards for value in shard])
    assert encode(merged) == encode(whole)
    assert (merged.n, merged.minimum, merged.maximum, merged.mean) == (
        whole.n,
        whole.minimum,
        whole.maximum,
        whole.mean,
    )


def test_B2_01_percentiles_are_per_cent() -> None:
    histogram = histogram_of([ms * 1_000 for ms in range(1, 101)])
    for p in (50, 99):
        assert histogram.percentile(p) == pytest.approx(p * 1_000, rel=1e-3)
    assert histogram.percentile(99.9) == 100_000
    assert histogram.percentile(0.5) == pytest.approx(1_000, abs=1)
    for wrong in (0, -1, 100.001, 101, math.nan):
        with pytest.raises(ValueError, match="median is 50"):
            histogram.percentile(wrong)


def test_B2_03_workers_are_merged_and_not_averaged() -> None:
    one, two = Histogram(), Histogram()
    one.record(10_000, 900)
    two.record(1_000_000, 100)
    one.merge(two)
    assert one.n == 1_000
    assert [round(one.percentile(p), -3) for p in (50, 90, 95)] == [10_000, 10_000, 1_000_000]


def test_B2_03_a_larger_range_merges_and_another_precision_is_refused() -> None:
    day = Histogram(1, 24 * HOUR_US)
    day.record(20 * HOUR_US)
    small = histogram_of([5, 50])
    small.merge(day)
    assert (small.n, small.minimum, small.maximum) == (3, 5, 20 * HOUR_US)
    small.record(23 * HOUR_US)
    for unlike in (Histogram(digits=2), Histogram(lowest=2)):
        with pytest.raises(UnlikeHistogramsError, match="lose precision"):
            small.merge(unlike)
    assert small.n == 4


@pytest.mark.parametrize("samples", [[575_123], np.random.default_rng(53).integers(1, 10**6, 53)])
def test_B2_06_percentiles_never_leave_min_and_max(samples: list[int]) -> None:
    histogram = histogram_of(samples)
    shown = [histogram.percentile(p) for p in (0.1, 1, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100)]
    assert shown == sorted(shown)
    assert histogram.minimum <= shown[0]
    assert shown[-1] == histogram.maximum


def test_A7_06_ten_million_gaps_take_less_than_a_megabyte() -> None:
    """Memory depends on the range of the values and not on their number."""
    histogram = Histogram()
    batch = np.random.default_rng(1).gamma(2, 10_000, 100_000).astype(np.int64)
    for _ in range(100):
        histogram.record_many(batch)
    assert histogram.n == 10_000_000
    assert len(pickle.dumps(histogram.counts)) < 1_000_000
    assert histogram.mean == batch.mean()


@pytest.mark.parametrize("wrong", [-1, HOUR_US + 1, 1 << 62])
def test_a_value_that_does_not_fit_is_an_error_and_nothing_is_recorded(wrong: int) -> None:
    histogram = histogram_of([1])
    with pytest.raises(ValueOutOfRangeError, match="check its unit"):
        histogram.record(wrong)
    with pytest.raises(ValueOutOfRangeError, match="check its unit"):
        histogram.record_many(np.array([1, wrong, 2]))
    assert histogram.n == 1
    assert histogram.counts.sum() == 1


def test_fractions_are_refused_and_not_truncated() -> None:
    with pytest.raises(TypeError, match="round"):
        Histogram().record_many(np.array([1.5]))


def test_an_empty_histogram_has_no_statistics() -> None:
    empty = Histogram()
    empty.record_many(np.array([], dtype=np.int64))
    empty.merge(Histogram())
    for ask in (
        lambda: empty.minimum,
        lambda: empty.maximum,
        lambda: empty.mean,
        lambda: empty.percentile(50),
    ):
        with pytest.raises(NoSamplesError):
            ask()
    assert empty.count_over(0) == 0
    assert decode(encode(empty)).n == 0


def test_merging_an_empty_histogram_changes_nothing() -> None:
    """The library's own add turns the minimum into 0 here."""
    histogram = histogram_of([70, 80])
    histogram.merge(Histogram())
    assert (histogram.minimum, histogram.n) == (70, 2)


def test_copy_and_reset_are_independent() -> None:
    histogram = histogram_of([1, 2, 3])
    twin = histogram.copy()
    histogram.reset()
    assert (histogram.n, twin.n, twin.mean) == (0, 3, 2.0)


def test_a_pickled_histogram_keeps_its_exact_statistics() -> None:
    """What a worker process hands back is merged as if it had been recorded here."""
    histogram = histogram_of([1_234_567, 7_654_321])
    twin = pickle.loads(pickle.dumps(histogram))
    assert (twin.minimum, twin.maximum, twin.mean) == (1_234_567, 7_654_321, 4_444_444.0)
    assert encode(twin) == encode(histogram)


def test_sums_beyond_64_bits_stay_exact() -> None:
    large = (1 << 62) + 12345
    histogram = Histogram(1, (1 << 63) - 1)
    histogram.record_many(np.array([large] * 8))
    assert histogram.mean == large * 8 / 8


@pytest.mark.parametrize(
    ("n", "p", "ranks"),
    [
        (1_000, 50, (469, 532)),
        (1_000, 90, (881, 919)),
        (1_000, 99, (983, 997)),
        (200, 99, (195, None)),
        (1, 50, (None, None)),
        (10, 100, (10, None)),
    ],
)
def test_interval_ranks(n: int, p: float, ranks: tuple[int | None, int | None]) -> None:
    """Computed once by the formula of David and Nagaraja; None where n has no bound to give."""
    assert interval_ranks(p, n) == ranks
    histogram = histogram_of(range(1, n + 1))
    expected = tuple(rank and pytest.approx(rank, rel=1e-3) for rank in ranks)
    assert histogram.percentile_interval(p) == expected


def test_interval_covers_the_true_percentile_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    truth = 1_000 * -math.log(1 - 0.95)
    hits = 0
    for _ in range(300):
        low, high = histogram_of(rng.exponential(1_000, 400).astype(np.int64)).percentile_interval(95)
        assert low is not None
        assert high is not None
        hits += low <= truth <= high
    assert hits >= 300 * 0.92


@pytest.mark.parametrize(
    ("p", "n", "rank"),
    [(99.9, 1_000, 999), (99, 100, 99), (95, 1, 1), (7, 100, 7), (50, 5, 3), (99, 53, 53), (0.1, 10, 1)],
)
def test_rank_is_exact_in_spite_of_binary_fractions(p: float, n: int, rank: int) -> None:
    assert nearest_rank(p, n) == rank
