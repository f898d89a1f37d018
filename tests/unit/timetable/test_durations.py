"""Durations of the timetable's options."""

from __future__ import annotations

import pytest

from reference_server.timetable.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0", 0),
        ("50ms", 50_000_000),
        ("1.5s", 1_500_000_000),
        ("1m30s", 90_000_000_000),
        ("100us", 100_000),
        (".5ms", 500_000),
    ],
)
def test_reads_number_and_unit(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize("text", ["50", "", "ms", "-5ms", "5 ms", "5ms.", "1e3s", "25h", None, True])
def test_refuses_everything_else(text: object) -> None:
    with pytest.raises(ValueError, match=r"duration|longer"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0", "50ms", "2s", "100us", "7ns", "1500ms"])
def test_formatted_is_read_back(text: str) -> None:
    assert format_duration(parse_duration(text)) == text
