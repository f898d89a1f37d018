"""Durations in and out, against Go's grammar."""

from __future__ import annotations

from fractions import Fraction

import durationpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.durations import UNITS, format_duration, parse_duration
from scenarios.errors import ScenarioError


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("500ms", 500_000_000),
        ("1.5s", 1_500_000_000),
        ("2m", 120_000_000_000),
        ("1h30m", 5_400_000_000_000),
        ("10us", 10_000),
        ("10µs", 10_000),
        ("10\u03bcs", 10_000),
        ("7ns", 7),
        (".5s", 500_000_000),
        ("1.s", 1_000_000_000),
        (" 3s ", 3_000_000_000),
        ("5 s", 5_000_000_000),
        ("1h 30 m", 5_400_000_000_000),
        ("+3s", 3_000_000_000),
        ("0.1s", 100_000_000),
        ("0", 0),
        (0, 0),
        ("0s", 0),
    ],
)
def test_reads_go_syntax(text: object, expected_ns: int) -> None:
    assert parse_duration(text) == expected_ns


@pytest.mark.parametrize("value", [30, 1.5, "30", "1.5", -3])
def test_bare_number_is_refused_with_both_readings(value: object) -> None:
    number = str(value).removeprefix("-")
    with pytest.raises(ScenarioError, match=f"has no unit; write {number}s for seconds or {number}ms"):
        parse_duration(value)


@pytest.mark.parametrize(
    "value", ["", "s", "1 m s", "1 h 30", "1x", "PT30S", "1s!", "ms500", "1e3s", "٣s", None, True, False, [1]]
)
def test_anything_else_is_refused_with_an_example(value: object) -> None:
    with pytest.raises(ScenarioError, match=r"is not a duration; .* such as 500ms, 1\.5s or 1h30m"):
        parse_duration(value)


def test_negative_is_refused() -> None:
    with pytest.raises(ScenarioError, match="can't be negative"):
        parse_duration("-5s")


def test_absurdly_long_is_refused() -> None:
    with pytest.raises(ScenarioError, match="longer than 292 years"):
        parse_duration("9999999h")


_numbers = st.one_of(
    st.integers(0, 5000).map(str),
    st.tuples(st.integers(0, 500), st.integers(0, 999)).map(lambda pair: f"{pair[0]}.{pair[1]:03d}"),
)
_texts = st.lists(st.tuples(_numbers, st.sampled_from(["ms", "s", "m", "h"])), min_size=1, max_size=4).map(
    lambda parts: "".join(number + unit for number, unit in parts)
)


@given(_texts)
def test_agrees_with_durationpy(text: str) -> None:
    """An independent parser of the same grammar; it works in microseconds and floats."""
    theirs = durationpy.from_str(text)
    microseconds = (theirs.days * 86_400 + theirs.seconds) * 1_000_000 + theirs.microseconds
    assert abs(parse_duration(text) - microseconds * 1_000) <= 4_000


@given(st.lists(st.tuples(st.decimals(0, 10_000, places=6), st.sampled_from(sorted(UNITS))), min_size=1))
def test_is_exact(parts: list[tuple[object, str]]) -> None:
    exact = sum((Fraction(str(number)) * UNITS[unit] for number, unit in parts), Fraction(0))
    assert parse_duration("".join(f"{number}{unit}" for number, unit in parts)) == round(exact)


@given(st.integers(0, 2**63 - 1))
def test_what_is_written_is_read_back_exactly(duration_ns: int) -> None:
    assert parse_duration(format_duration(duration_ns)) == duration_ns


@pytest.mark.parametrize("text", ["0s", "500ms", "1.5s", "2m", "1h30m", "10us", "7ns", "1h500us", "1m30s"])
def test_writes_the_short_form(text: str) -> None:
    assert format_duration(parse_duration(text)) == text
