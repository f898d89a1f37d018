"""The small parts by themselves."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from prometheus_client.core import HistogramMetricFamily

from reference_server.api.banner import banner
from reference_server.api.buckets import REQUEST_S, TOKEN_GAP_S, TTFT_S, one_two_five
from reference_server.api.choice import Delta
from reference_server.api.frames import CHAT_CHUNK, COMPLETION_CHUNK, Frames
from reference_server.api.histogram import Histogram
from reference_server.api.listening import AddressError, bind, url
from reference_server.api.request_ids import answer_id
from reference_server.api.timing import Timing
from reference_server.api.usage import make_usage
from reference_server.engine.request import EngineInfo

MS = 1_000_000
HEAD = {"id": "chatcmpl-1", "created": 7, "model": 'm"1'}


def test_timing_sums_up_to_the_whole() -> None:
    timing = Timing(
        arrival_ns=10 * MS,
        scheduled_ns=15 * MS,
        first_token_ns=45 * MS,
        first_output_ns=46 * MS,
        last_output_ns=146 * MS,
        num_tokens=11,
    )
    assert timing.queue_ns + timing.prefill_ns + timing.decode_ns == timing.e2e_ns == 136 * MS
    assert timing.as_metrics() == {
        "time_to_first_token_ms": 30.0,
        "generation_time_ms": 101.0,
        "queue_time_ms": 5.0,
        "mean_itl_ms": 10.0,
        "tokens_per_second": 83.969,
    }


def test_a_single_token_has_no_mean_gap() -> None:
    timing = Timing(
        0, scheduled_ns=1, first_token_ns=2 * MS, first_output_ns=3, last_output_ns=3 * MS, num_tokens=1
    )
    metrics = timing.as_metrics()
    assert metrics
    assert metrics["mean_itl_ms"] is None


def test_without_a_token_there_are_no_metrics() -> None:
    assert Timing(arrival_ns=5).as_metrics() is None
    assert Timing(arrival_ns=5).e2e_ns == 0


def test_a_histogram_counts_at_or_below_its_edges() -> None:
    histogram = Histogram("h", "", (0.1, 1, 10))
    for value in (0.1, 0.5, 1.0, 10.1):
        histogram.observe(value)
    histogram.observe(2.0, times=3)
    family = histogram.family({"engine": "0"})
    assert isinstance(family, HistogramMetricFamily)
    counts = {sample.labels["le"]: sample.value for sample in family.samples if sample.name == "h_bucket"}
    assert counts == {"0.1": 1, "1.0": 3, "10.0": 6, "+Inf": 7}
    assert {sample.name: sample.value for sample in family.samples if sample.name == "h_sum"} == {
        "h_sum": pytest.approx(17.7)
    }


@pytest.mark.parametrize("edges", [TTFT_S, TOKEN_GAP_S, REQUEST_S, one_two_five(8192)])
def test_edges_ascend(edges: Any) -> None:
    assert list(edges) == sorted(set(edges))


@pytest.mark.parametrize(
    "text", ['quote " slash \\ newline \n', "\u2028 \u00e9 \U0001f600", "\x00\x1f", "</script>"]
)
@pytest.mark.parametrize("shape", [CHAT_CHUNK, COMPLETION_CHUNK])
def test_any_text_comes_through_a_frame_as_one_line(shape: Any, text: str) -> None:
    frames = Frames(shape, HEAD, "f", 2)
    frame = frames.delta(Delta(1, text, [5], []), make_usage(1, 2, 0))
    assert frame.startswith(b"data: {")
    assert frame.endswith(b"}\n\n")
    assert frame.count(b"\n") == 2
    chunk = json.loads(frame.removeprefix(b"data: "))
    (choice,) = chunk["choices"]
    assert choice["index"] == 1
    assert (choice["delta"]["content"] if "delta" in choice else choice["text"]) == text
    assert chunk["model"] == 'm"1'
    assert chunk["usage"]["total_tokens"] == 3


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [("mine", "cmpl-mine"), ("a/b", None), ('x"\r\n', None), ("", None), ("x" * 129, None), (None, None)],
)
def test_only_harmless_ids_are_taken_over(chosen: str | None, expected: str | None) -> None:
    made = answer_id("cmpl", chosen)
    assert made.startswith("cmpl-")
    assert made == expected or (expected is None and len(made) == len("cmpl-") + 16)


def test_ipv6_addresses_stand_in_brackets() -> None:
    assert url("::1", 80) == "http://[::1]:80"
    assert url("127.0.0.1", 80) == "http://127.0.0.1:80"


def test_a_taken_port_says_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(AddressError, match="choose another --port"):
            bind("127.0.0.1", taken.getsockname()[1])


def test_an_unknown_host_says_what_to_do() -> None:
    with pytest.raises(AddressError, match="choose another --host"):
        bind("256.256.256.256", 0)


def test_an_address_of_another_machine_says_what_to_do() -> None:
    with pytest.raises(AddressError, match="this machine has no such address; choose another --host"):
        bind("192.0.2.1", 0)


def test_notes_of_the_engine_are_told() -> None:
    info = EngineInfo(
        max_model_len=8192,
        vocab_size=9,
        eos_token_ids=(1,),
        num_blocks=10,
        block_size=32,
        dtype="bfloat16",
        device="cpu",
        num_parameters=134_500_000,
        weight_bytes=311 << 20,
        notes=("gpu_memory_utilization has no effect on a CPU",),
    )
    text = banner(("m",), info, "http://127.0.0.1:1", "0.1.0")
    assert "320 tokens (10 blocks of 32)" in text
    assert "134.5 M parameters, 311 MiB" in text
    assert text.count("gpu_memory_utilization") == 1
