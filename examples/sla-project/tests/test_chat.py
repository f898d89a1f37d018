"""Objectives that the server should meet. Make the limits yours."""

import pytest


@pytest.mark.sla(ttft_p50="5s", tpot_p50="500ms", error_rate="<10%")
def test_first_token_comes_soon(load):
    run = load(rate=4, requests=40)
    assert run.output_tokens.min >= 1


@pytest.mark.sla(e2e_p50="20s")
async def test_users_at_once(load):
    run = await load(concurrency=2, requests=40)
    assert run.errors.count == 0


@pytest.mark.sla(ttft_p50="5s")
def test_steady_load_starts_soon(steady):
    assert steady.tpot.p(50) <= "500ms"


@pytest.mark.sla(error_rate="<10%")
def test_steady_load_is_answered(steady):
    for request in steady.requests:
        assert request.output_tokens > 0
