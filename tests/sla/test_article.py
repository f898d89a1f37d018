"""A streaming test of the usual kind, with what it lacks: samples enough for its verdict, and an identity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from harness.pytest.loading import Load

PROMPT = "Explain KV cache in 2 sentences."


@pytest.mark.sla(ttft_p90="<500ms", tpot_mean="<50ms", output_tokens_min=1, error_rate="<10%")
def test_streaming_sla(load: Load) -> None:
    """First token within 500 ms, further tokens within 50 ms each on average, and some tokens at all.

    30 requests, since 29 without a miss are the fewest that show at 95 % confidence that 9 in 10 are in time.
    """
    run = load(endpoint="completions", prompts=PROMPT, max_tokens=100, temperature=0, requests=30)
    assert len(run.requests) == 30
    for request in run.requests:
        assert request.ok
        assert request.text
        assert request.output_tokens > 0
        total = request.ttft + request.tpot * (request.output_tokens - 1)
        assert request.e2e == pytest.approx(total, rel=1e-9), "total = TTFT + TPOT x (n - 1)"


@pytest.mark.sla(ttft_p50="<500ms", tpot_mean="<50ms")
async def test_streaming_sla_in_an_async_test(load: Load) -> None:
    """The same with several users at once, awaited."""
    run = await load(prompts=PROMPT, max_tokens=32, temperature=0, concurrency=2, requests=8)
    assert run.output_tokens.min >= 1
    assert run.errors.count == 0
