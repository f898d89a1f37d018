"""Lengths and their distributions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from scenarios.lengths import Length, Lengths
from scenarios.seeds import generator

_ADAPTER: TypeAdapter[Length] = TypeAdapter(Lengths)


def _draw(value: object, count: int = 4000) -> list[int]:
    rng = generator(0, "test")
    length = _ADAPTER.validate_python(value)
    return [length.draw(rng) for _ in range(count)]


def test_number_is_constant() -> None:
    assert set(_draw(200, 10)) == {200}


def test_mean_and_stdev_are_met() -> None:
    drawn = _draw({"mean": 200, "stdev": 50})
    assert np.mean(drawn) == pytest.approx(200, rel=0.02)
    assert np.std(drawn) == pytest.approx(50, rel=0.05)


def test_ends_cut_off_and_do_not_pile_up() -> None:
    drawn = _draw({"mean": 100, "stdev": 50, "min": 80, "max": 120})
    assert (min(drawn), max(drawn)) == (80, 120)
    assert max(drawn.count(80), drawn.count(120)) < 3 * drawn.count(100)


def test_min_and_max_alone_are_even() -> None:
    drawn = _draw({"min": 3, "max": 6})
    assert [drawn.count(value) / 4000 for value in (3, 4, 5, 6)] == pytest.approx([0.25] * 4, abs=0.03)


@given(
    st.integers(1, 100),
    st.integers(0, 1000),
    st.integers(0, 1000),
    st.floats(0, 1e9, allow_nan=False),
    st.integers(0),
)
def test_draws_stay_within(least: int, to_mean: int, to_max: int, stdev: float, seed: int) -> None:
    """Whatever the spread: also where nearly nothing of the distribution lies within."""
    mean, most = least + to_mean, least + to_mean + to_max
    length = Length(mean=float(mean), stdev=stdev, min=least, max=most)
    rng = generator(seed, "test")
    assert all(least <= length.draw(rng) <= most for _ in range(20))


@pytest.mark.parametrize(
    "value", [17, {"mean": 20.0, "stdev": 3.0, "min": 4, "max": 30}, {"min": 3, "max": 9}]
)
def test_is_written_as_it_was_read(value: object) -> None:
    assert _ADAPTER.dump_python(_ADAPTER.validate_python(value), mode="json") == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "whole number of at least 1"),
        (1.5, "whole number of at least 1"),
        (float("inf"), "must be at most 10000000, not inf"),
        (10**9, "must be at most 10000000, not 1000000000"),
        (float("nan"), "whole number of at least 1"),
        (True, "must be a whole number or"),
        ("ten", "must be a whole number or"),
        ({}, "needs a mean, or a min and a max"),
        ({"stdev": 3, "max": 9}, "needs a mean, or a min and a max"),
        ({"mean": 5, "min": 6}, "mean 5 lies outside"),
        ({"mean": 5, "max": 4}, "mean 5 lies outside"),
        ({"min": 5, "max": 4}, "max 4 is less than min 5"),
        ({"mean": 5, "std": 1}, "did you mean 'stdev'"),
    ],
)
def test_what_is_no_length_is_refused(value: object, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        _ADAPTER.validate_python(value)
