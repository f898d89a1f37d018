"""What dashboards read: vLLM's names, labels and edges, and numbers that add up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.asyncio(loop_scope="module")

DATA = "tests/data/api/vllm_metrics.txt"


async def samples(api: Any) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = (await api.http.get("/metrics")).text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value_of(found: dict[Any, float], name: str, **labels: str) -> float:
    (value,) = [
        value
        for (key, given), value in found.items()
        if key == name and labels.items() <= dict(given).items()
    ]
    return value


async def test_the_numbers_of_ten_requests_add_up(start_api: Any) -> None:
    api = await start_api()
    for _ in range(10):
        await api.complete("abcd", max_tokens=8, ignore_eos=True, n=2, add_special_tokens=False)
    found = await samples(api)
    labels = {"model_name": "echo", "engine": "0"}
    expected = {
        "vllm:time_to_first_token_seconds_count": 20,
        "vllm:e2e_request_latency_seconds_count": 20,
        "vllm:request_queue_time_seconds_count": 20,
        "vllm:request_prefill_time_seconds_count": 20,
        "vllm:request_decode_time_seconds_count": 20,
        "vllm:request_inference_time_seconds_count": 20,
        "vllm:request_time_per_output_token_seconds_count": 20,
        "vllm:request_prompt_tokens_sum": 80,
        "vllm:request_generation_tokens_sum": 160,
        "vllm:request_max_num_generation_tokens_sum": 160,
        "vllm:request_prefill_kv_computed_tokens_sum": 80,
        "vllm:request_params_n_sum": 20,
        "vllm:request_params_max_tokens_sum": 80,
        "vllm:iteration_tokens_total_sum": 160,
        "vllm:generation_tokens_total": 160,
        "vllm:num_requests_running": 0,
        "vllm:num_requests_waiting": 0,
        "vllm:kv_cache_usage_perc": 0,
        "vllm:num_preemptions_total": 0,
    }
    assert {name: value_of(found, name, **labels) for name in expected} == expected
    gaps = value_of(found, "vllm:inter_token_latency_seconds_count", **labels)
    assert 0 < gaps <= 140  # tokens that come together with a sequence's first have no gap
    assert value_of(found, "vllm:request_success_total", finished_reason="length") == 20
    assert value_of(found, "http_requests_total", handler="/v1/completions", status="2xx") == 10


async def test_C7_03_gauges_return_to_zero_after_ends_of_every_kind(start_api: Any, echo: Any) -> None:
    api = await start_api(engine={"step_s": 0.002})
    endless = {"prompt": "a", "max_tokens": 4000, "ignore_eos": True, "stream": True}
    leaving = [asyncio.create_task(api.post("/v1/completions", **endless)) for _ in range(25)]
    failing = [api.post("/v1/completions", prompt=[echo.REFUSED], stream=True) for _ in range(25)]
    finishing = [api.post("/v1/completions", prompt="abc", stream=True) for _ in range(50)]
    await asyncio.gather(*failing, *finishing)
    for task in leaving:
        task.cancel()
    await asyncio.gather(*leaving, return_exceptions=True)
    async with asyncio.timeout(2):
        while api.context.client.stats.num_running:  # noqa: ASYNC110 (the engine has no event)
            await asyncio.sleep(0.01)
    found = await samples(api)
    reasons = {
        reason: value_of(found, "vllm:request_success_total", finished_reason=reason)
        for reason in ("stop", "abort", "error")
    }
    assert reasons == {"stop": 50, "abort": 25, "error": 25}
    assert value_of(found, "vllm:num_requests_running") == 0
    assert value_of(found, "vllm:kv_cache_usage_perc") == 0
    assert all(value >= 0 for value in found.values())


async def test_C7_03_a_fault_in_a_metric_stops_nothing(
    start_api: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("reference_server.api.histogram.Histogram.observe", broken)
    api = await start_api()
    await api.complete("abc")
    assert "a metric could not be recorded" in caplog.text


async def test_names_types_and_labels_are_vllm_s(start_api: Any) -> None:
    """Every vllm: family of ours that a recorded vLLM has too has its type, labels and at least its edges."""
    api = await start_api()
    await api.complete("abc")
    with open(DATA, encoding="utf-8") as recorded:  # noqa: ASYNC230, PTH123 (a small local file)
        theirs = {family.name: family for family in text_string_to_metric_families(recorded.read())}
    text = (await api.http.get("/metrics")).text
    ours = {family.name: family for family in text_string_to_metric_families(text)}
    shared = {name for name in ours if name in theirs and name.startswith("vllm:")}
    assert len(shared) > 25
    for name in shared - {"vllm:cache_config_info"}:
        assert ours[name].type == theirs[name].type, name
        assert _label_names(ours[name]) == _label_names(theirs[name]), name
        assert _edges(ours[name]) >= {
            edge for edge in _edges(theirs[name]) if edge <= 4096 or "tokens" not in name
        }
    beyond = {name for name in ours if name.startswith("vllm:")} - shared
    assert beyond == {
        "vllm:gpu_cache_usage_perc",
        "vllm:time_per_output_token_seconds",
        "vllm:time_per_output_token_seconds_created",
    }


def _label_names(family: Any) -> set[str]:
    return {name for sample in family.samples for name in sample.labels}


def _edges(family: Any) -> set[float]:
    return {float(sample.labels["le"]) for sample in family.samples if "le" in sample.labels} - {float("inf")}
