"""A scenario of another length is the same load."""

from __future__ import annotations

from typing import Any

import pytest

from scenarios.scaling import scaled
from scenarios.scenario import scenario_from


def scenario(**load: Any) -> Any:
    return scenario_from({"name": "x", "load": load, "prompts": {"source": "text", "text": ["a"]}})


def test_times_and_numbers_are_multiplied_and_rates_are_not() -> None:
    whole = scenario(arrivals="constant", rate=20, duration="30s", requests=500, warmup="5s", cooldown="1s")
    part = scaled(whole, 0.1).load
    assert (part.rate, part.duration, part.requests) == (20, 3_000_000_000, 50)
    assert (part.warmup, part.cooldown) == (500_000_000, 100_000_000)
    part = scaled(scenario(arrivals="constant", rate=20, requests=500, warmup_requests=30), 0.1).load
    assert (part.requests, part.warmup_requests) == (50, 3)


def test_stages_and_ramps() -> None:
    part = scaled(scenario(arrivals="stages", stages=[{"rate": 1, "to": 9, "duration": "1m"}]), 0.5).load
    assert (part.stages[0].rate, part.stages[0].to, part.stages[0].duration) == (1, 9, 30_000_000_000)
    part = scaled(scenario(arrivals="closed", concurrency=4, ramp="4s", duration="40s"), 2).load
    assert (part.concurrency, part.ramp, part.duration) == (4, 8_000_000_000, 80_000_000_000)


def test_something_is_left() -> None:
    part = scaled(scenario(arrivals="closed", concurrency=1, requests=3, warmup="auto"), 0.01).load
    assert (part.requests, part.warmup) == (1, "auto")


def test_once_as_long_is_the_scenario_itself() -> None:
    whole = scenario(arrivals="closed", concurrency=1, requests=3)
    assert scaled(whole, 1.0) is whole


def test_the_source_stays_as_it_is() -> None:
    whole = scenario(arrivals="closed", concurrency=1, requests=100)
    scaled(whole, 0.5)
    assert whole.load.requests == 100


@pytest.mark.parametrize("factor", [0.3, 7])
def test_what_was_no_time_stays_none(factor: float) -> None:
    part = scaled(scenario(arrivals="constant", rate=2, requests=100), factor).load
    assert (part.duration, part.warmup, part.cooldown) == (None, 0, 0)
