"""Rates and shares."""

from __future__ import annotations

import math

import pytest

from scenarios.errors import ScenarioError
from scenarios.rates import parse_rate, parse_share


@pytest.mark.parametrize(
    ("value", "per_second"),
    [(5, 5.0), (0.5, 0.5), ("5/s", 5.0), ("300/m", 5.0), ("90 / h", 0.025), (".5/s", 0.5)],
)
def test_reads_rates(value: object, per_second: float) -> None:
    assert parse_rate(value) == per_second


@pytest.mark.parametrize("value", [0, -1, "0/s", math.inf, math.nan])
def test_rate_must_be_positive_and_finite(value: object) -> None:
    with pytest.raises(ScenarioError, match="must be finite and greater than 0"):
        parse_rate(value)


@pytest.mark.parametrize("value", ["", "5", "5 per second", "5/d", True, None])
def test_other_rates_are_refused_with_an_example(value: object) -> None:
    with pytest.raises(ScenarioError, match="is not a rate; write 5 "):
        parse_rate(value)


@pytest.mark.parametrize(
    ("value", "share"), [(0.01, 0.01), ("1%", 0.01), ("99.9 %", 0.999), (0, 0.0), (1, 1.0)]
)
def test_reads_shares(value: object, share: float) -> None:
    assert parse_share(value) == pytest.approx(share, rel=1e-15)


@pytest.mark.parametrize("value", [1.5, "101%", -0.1, math.nan])
def test_share_lies_between_0_and_1(value: object) -> None:
    with pytest.raises(ScenarioError, match="lies between 0 and 1"):
        parse_share(value)


@pytest.mark.parametrize("value", ["1", "one", True, None])
def test_other_shares_are_refused_with_an_example(value: object) -> None:
    with pytest.raises(ScenarioError, match=r"is not a share; write 0\.01 or 1%"):
        parse_share(value)
