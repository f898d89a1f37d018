"""Digits are chosen in one place and never tell another story than the verdict."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reports.units import MISSING, against, duration, fixed, margin, quantity, scale_of


def number(text: str) -> float:
    return float(text.split()[0].replace(",", ""))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (52_340_000, "ns", "52.34 ms"),
        (812_300, "ns", "812.3 µs"),
        (1_500_000_000, "ns", "1.500 s"),
        (999, "ns", "999 ns"),
        (0, "ns", "0 ms"),
        (0.988, "share", "98.80 %"),
        (1, "share", "100 %"),
        (123_456.7, "tokens/s", "123,457 tokens/s"),
        (None, "ns", MISSING),
        (float("nan"), "tokens/s", f"{MISSING} tokens/s"),
    ],
)
def test_quantities(value: float | None, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize(
    ("value", "limit", "unit", "texts"),
    [
        (499.96e6, 500e6, "ns", ("499.96 ms", "500 ms")),
        (500e6, 500e6, "ns", ("500 ms", "500 ms")),
        (499_999_999.0, 500e6, "ns", ("499.999999 ms", "500 ms")),
        (0.988, 0.95, "share", ("98.80 %", "95 %")),
        (0.9499999, 0.95, "share", ("94.99999 %", "95 %")),
        (1.2e9, 800e6, "ns", ("1200 ms", "800 ms")),
        (None, 5e6, "ns", (MISSING, "5 ms")),
    ],
)
def test_B1_05_a_printed_value_lies_on_the_side_where_it_was_judged(
    value: float | None, limit: float, unit: str, texts: tuple[str, str]
) -> None:
    assert against(value, limit, unit) == texts


@given(st.floats(0, 1e12), st.integers(1, 4_000_000), st.floats(-1e-9, 1e-9))
def test_B1_05_no_pair_of_value_and_limit_is_printed_in_another_order(
    value: float, limit_us: int, nudge: float
) -> None:
    limit = limit_us * 1e3
    for judged in (value, limit * (1 + nudge)):
        shown, shown_limit = (number(text) for text in against(judged, limit, "ns"))
        assert (shown < shown_limit, shown > shown_limit) == (judged < limit, judged > limit)


@given(st.lists(st.floats(1, 1e11), min_size=1, max_size=5), st.floats(1e3, 1e10))
def test_B1_05_a_row_of_a_table_does_not_cross_a_limit_by_rounding(values: list[float], limit: float) -> None:
    scale = scale_of("ns", values[0])
    assume(all(abs(value - limit) > 1e-6 * limit for value in values))
    for value, text in zip(values, fixed([*values], scale, [limit]), strict=True):
        assert (number(text) * scale.divisor < limit) == (value < limit)


def test_a_row_has_equally_many_decimals() -> None:
    assert fixed([90.5e6, 171.61e6, None, 12_346.7e6], scale_of("ns", 90.5e6), []) == [
        "90.5",
        "171.6",
        MISSING,
        "12,346.7",
    ]


@pytest.mark.parametrize(
    ("value", "limit", "unit", "upper", "text"),
    [
        (346e6, 500e6, "ns", True, "+154 ms (+30.8 %)"),
        (520e6, 500e6, "ns", True, "-20 ms (-4 %)"),
        (0.982, 0.95, "share", False, "+3.20 points"),
        (None, 1.0, "share", True, MISSING),
    ],
)
def test_margins(value: float | None, limit: float, unit: str, upper: bool, text: str) -> None:
    assert margin(value, limit, unit, upper=upper) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.99999, "99.999 %"), (0.9999996, "99.99996 %"), (1.0, "100 %"), (0.999, "99.90 %"), (0.95, "95 %")],
)
def test_what_is_not_all_is_not_100_percent(share: float, text: str) -> None:
    assert quantity(share, "share") == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0.4 s"), (34.25, "34.2 s"), (725, "12 min 05 s"), (7380, "2 h 03 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
