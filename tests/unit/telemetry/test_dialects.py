"""Every dialect against a page of its server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.telemetry.dialects import dialect_of, every_dialect
from harness.telemetry.exposition import parse
from harness.telemetry.figures import Distribution, Figures

if TYPE_CHECKING:
    from collections.abc import Callable

EXPECTED = {
    "sglang": Figures(
        running=8.0,
        waiting=2.0,
        kv_usage=0.31,
        prompt_tokens=8128902.0,
        generation_tokens=7557572.0,
        preemptions=7.0,
        prefix_cache_queries=8128902.0,
        prefix_cache_hits=1000.0,
        ttft=Distribution(1000.0, 235.0, ((0.1, 500.0), (0.2, 900.0))),
        queue_time=Distribution(1000.0, 40.0),
        itl=Distribution(2000.0, 20.0),
    ),
    "tgi": Figures(
        running=5.0,
        waiting=3.0,
        prompt_tokens=5000.0,
        generation_tokens=1000.0,
        queue_time=Distribution(145.0, 1.2, ((0.1, 140.0),)),
    ),
    "trtllm": Figures(
        running=4.0,
        waiting=1.0,
        kv_usage=0.62,
        prompt_tokens=4800.0,
        generation_tokens=1536.0,
        prefix_cache_queries=100.0,
        prefix_cache_hits=30.0,
        ttft=Distribution(12.0, 0.6, ((0.001, 0.0), (0.1, 12.0))),
        queue_time=Distribution(12.0, 0.03),
    ),
    "llamacpp": Figures(
        running=0.0,
        waiting=0.0,
        prompt_tokens=306.0,
        generation_tokens=136.0,
        prefix_cache_queries=306.0,
        prefix_cache_hits=239.0,
    ),
}
NAMES = ("llamacpp", "sglang", "tgi", "trtllm", "vllm")


def test_dialects_are_found_by_themselves() -> None:
    assert tuple(each.name for each in every_dialect()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_server_is_known_by_its_page(name: str, page: Callable[[str], str]) -> None:
    dialect = dialect_of(parse(page(name)))
    assert dialect is not None
    assert dialect.name == name
    assert dialect_of(parse("up 1\nprocess_cpu_seconds_total 3")) is None


@pytest.mark.parametrize("name", EXPECTED)
def test_the_figures_of_a_page(name: str, page: Callable[[str], str]) -> None:
    dialect = next(each for each in every_dialect() if each.name == name)
    assert dialect.figures(parse(page(name))) == EXPECTED[name]
    assert dialect.figures(parse(page(name), dialect.all_wanted)) == EXPECTED[name]


def test_the_figures_of_vllm(page: Callable[[str], str]) -> None:
    dialect = next(each for each in every_dialect() if each.name == "vllm")
    figures = dialect.figures(parse(page("vllm"), dialect.all_wanted))
    assert figures.num_known == 11
    assert (figures.running, figures.waiting, figures.kv_usage) == (0.0, 0.0, 0.0)
    assert figures.prefix_cache_queries == 46442.0
    assert figures.ttft is not None
    assert figures.ttft.count == 376.0
    assert figures.ttft.sum_s == pytest.approx(1259.4621024)
    assert len(figures.ttft.buckets) == 22
    assert figures.ttft.buckets == tuple(sorted(figures.ttft.buckets))
    assert figures.queue_time is not None
    assert figures.queue_time.sum_s == pytest.approx(158.62651563)


def test_buckets_can_be_left_out(page: Callable[[str], str]) -> None:
    """While the load goes on: everything but them is read all the same."""
    for dialect in every_dialect():
        lean = dialect.figures(parse(page(dialect.name), dialect.wanted))
        whole = dialect.figures(parse(page(dialect.name)))
        for name in Figures.__struct_fields__:
            few, all_ = getattr(lean, name), getattr(whole, name)
            assert few == (Distribution(all_.count, all_.sum_s) if isinstance(all_, Distribution) else all_)


def test_engines_are_added_up_and_the_fullest_counts() -> None:
    text = """
vllm:num_requests_running{engine="0"} 2
vllm:num_requests_running{engine="1"} 3
vllm:gpu_cache_usage_perc{engine="0"} 0.2
vllm:gpu_cache_usage_perc{engine="1"} 0.9
"""
    dialect = dialect_of(parse(text))
    assert dialect is not None
    assert dialect.figures(parse(text)) == Figures(running=5.0, kv_usage=0.9)


def test_the_page_of_a_server_that_speaks_two_dialects() -> None:
    """The bundled server shows llama.cpp's names beside vLLM's."""
    text = "llamacpp:requests_processing 1\nvllm:num_requests_running 1\nvllm:num_requests_waiting 0"
    dialect = dialect_of(parse(text))
    assert dialect is not None
    assert dialect.name == "vllm"


def test_a_llama_cpp_that_does_not_count_cached_tokens_has_no_prompt_tokens() -> None:
    """Its other counter leaves cached ones out, so it can't be held against the client's."""
    page = parse("llamacpp:prompt_tokens_total 67\nllamacpp:requests_processing 1")
    dialect = dialect_of(page)
    assert dialect is not None
    assert dialect.figures(page) == Figures(running=1.0)


def test_nan_is_no_figure() -> None:
    page = parse("llamacpp:requests_processing NaN\nllamacpp:requests_deferred 2")
    dialect = dialect_of(page)
    assert dialect is not None
    assert dialect.figures(page) == Figures(waiting=2.0)
