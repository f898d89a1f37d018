"""The text format, as servers write it and as it may come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from harness.telemetry.exposition import Sample, parse

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("name", ["vllm", "llamacpp", "sglang", "tgi", "trtllm"])
def test_a_page_is_read_as_the_official_parser_reads_it(name: str, page: Callable[[str], str]) -> None:
    """Labels and values of every sample, in order; it adds ``_total`` to names of counters."""
    theirs: dict[str, list[Sample]] = {}
    for family in text_string_to_metric_families(page(name)):
        for sample in family.samples:
            theirs.setdefault(sample.name.removesuffix("_total"), []).append(
                Sample(sample.labels, sample.value)
            )
    assert theirs
    assert {key.removesuffix("_total"): ours for key, ours in parse(page(name)).items()} == theirs


@pytest.mark.parametrize(
    ("line", "sample"),
    [
        ("a 1", Sample({}, 1.0)),
        ("a\t1e3 1795000000000", Sample({}, 1000.0)),
        ("a{} -2.5", Sample({}, -2.5)),
        ('a{x="1",} 7', Sample({"x": "1"}, 7.0)),
        ('a { x = "1" , y="2" } 7', Sample({"x": "1", "y": "2"}, 7.0)),
        (r'a{x="q\"b\\n\n}{,="} 7', Sample({"x": 'q"b\\n\n}{,='}, 7.0)),
        ('a{x="é 😀"} 7\r', Sample({"x": "é 😀"}, 7.0)),
        ('a{le="0.1"} 7 # {trace_id="b{2} 9"} 0.05 1.7e9', Sample({"le": "0.1"}, 7.0)),
    ],
)
@pytest.mark.parametrize("wanted", [None, ("a",)])
def test_a_line(line: str, sample: Sample, wanted: tuple[str, ...] | None) -> None:
    assert parse(line, wanted) == {"a": [sample]}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "# TYPE a gauge",
        "a NaN",
        "a +Inf",
        "a -Inf",
        "a",
        "a{",
        'a{x="1" 7',
        "a one",
        '{"a.b",x="1"} 7',
        "1a 7",
    ],
)
def test_what_is_no_finite_sample_is_passed_over(line: str) -> None:
    assert parse(f"b 1\n{line}\nc 2") == {"b": [Sample({}, 1.0)], "c": [Sample({}, 2.0)]}


def test_only_whole_names_are_wanted() -> None:
    assert parse("ab 1\na 2\n# a 3\nb 4", ("a",)) == {"a": [Sample({}, 2.0)]}


@pytest.mark.parametrize(
    "body", ["<!doctype html><html><body>a 404</body></html>", '{"a": 1}', "\x00\xff" * 99]
)
def test_what_is_no_page_of_metrics_has_no_known_names(body: str) -> None:
    assert "a" not in parse(body)


@pytest.mark.parametrize(
    "line", ['a{x="' + "\\" * 200_000, "a{" + "x" * 200_000, 'a{x="' + '"' * 16_000, "{" * 16_000]
)
def test_hostile_lines_cost_little(line: str) -> None:
    """No pattern goes back and forth over a line."""
    begun = time.process_time()
    assert "a" not in parse("\n".join([line] * 20))
    assert time.process_time() - begun < 5


@given(st.text(max_size=300))
def test_any_text_is_survived(text: str) -> None:
    parse(text)
    parse(text, ("a",))
