"""One test for each verdict, to see what it looks like. Three of them are meant to fail.

pytest tests/test_four_verdicts.py
"""

import pytest


@pytest.mark.sla(output_tokens_p50=">=1", error_rate="<50%")
def test_pass(load):
    """Shown with 95 % confidence."""
    load(requests=20)


@pytest.mark.sla(ttft_p50="1us")
def test_fail(load):
    """Refuted with 95 % confidence: no server is that quick."""
    load(requests=20)


@pytest.mark.sla(error_rate="<1%")
def test_inconclusive(load):
    """20 requests without an error don't show that fewer than 1 in 100 fail."""
    load(requests=20)


@pytest.mark.sla(ttft_p50="5s")
def test_invalid(load):
    """The warm-up's end is to be found from the run itself, which is too short for that."""
    load(requests=20, warmup="auto")
