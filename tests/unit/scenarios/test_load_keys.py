"""Cancellation, stop conditions and forms of warm-up, as scenarios write them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from scenarios.errors import ScenarioError
from scenarios.scenario import scenario_from
from scenarios.schedule import StopLimits

if TYPE_CHECKING:
    from scenarios.scenario import Scenario


def _scenario(seed: int = 0, **load: Any) -> Scenario:
    load = {"arrivals": "poisson", "rate": 50, "requests": 2_000, **load}
    return scenario_from(
        {"name": "t", "seed": seed, "load": load, "prompts": {"source": "text", "text": "Hi"}}
    )


def _chosen(scenario: Scenario) -> list[int]:
    return [each.index for each in scenario.schedule().arrivals if each.cancel_after_ns is not None]


def test_a_share_is_cancelled_the_same_each_time() -> None:
    scenario = _scenario(cancel={"share": "10%", "after": "500ms"})
    chosen = _chosen(scenario)
    assert chosen == _chosen(scenario_from(scenario.to_mapping()))
    assert chosen[:5] == [11, 16, 19, 21, 29]
    assert 160 <= len(chosen) <= 240
    assert chosen != _chosen(_scenario(seed=1, cancel={"share": "10%", "after": "500ms"}))


def test_cancellation_moves_no_arrival() -> None:
    plain, some = _scenario(), _scenario(cancel={"share": 0.5, "after": "1s"})
    pairs = zip(plain.schedule().arrivals, some.schedule().arrivals, strict=True)
    for one, other in itertools.islice(pairs, 50):
        assert (one.due_ns, one.prompt) == (other.due_ns, other.prompt)


@pytest.mark.parametrize(("share", "num"), [("0%", 0), ("100%", 2_000)])
def test_none_and_all(share: str, num: int) -> None:
    assert len(_chosen(_scenario(cancel={"share": share, "after": "1s"}))) == num


@pytest.mark.parametrize(
    ("stop", "limits"),
    [
        ({"error_share": "50%", "after": "20 requests"}, StopLimits(error_share=0.5, min_ended=20)),
        ({"error_share": 0.1, "after": 5}, StopLimits(error_share=0.1, min_ended=5)),
        ({"in_flight": 2_000}, StopLimits(min_ended=20, in_flight=2_000)),
    ],
)
def test_stop(stop: dict[str, Any], limits: StopLimits) -> None:
    scenario = _scenario(stop=stop)
    assert scenario.schedule().stop == limits
    assert scenario_from(scenario.to_mapping()).load == scenario.load


def test_warm_up() -> None:
    auto = _scenario(warmup="auto")
    assert (auto.schedule().auto_warmup, auto.schedule().warmup_ns) == (True, 0)
    assert scenario_from(auto.to_mapping()).load.warmup == "auto"
    assert _scenario(warmup_requests=20).schedule().warmup_requests == 20


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ({"stop": {}}, "error_share: 50%"),
        ({"stop": {"in_flight": 9, "after": 3}}, "after belongs to error_share"),
        ({"stop": {"error_share": "50%", "after": "a while"}}, "20 requests"),
        ({"stop": {"error_share": 1}}, "never fail"),
        ({"stop": {"in_flight": 9}, "max_in_flight": 8}, "never reached"),
        ({"cancel": {"share": "10%"}}, "after: 500ms"),
        ({"cancel": {"share": "10%", "after": "0s"}}, "load.cancel.after"),
        ({"warmup": "never"}, "load.warmup"),
        ({"warmup": "auto", "warmup_requests": 3}, "give one of them"),
        ({"warmup_requests": 2_000}, "nothing is measured"),
    ],
)
def test_mistakes_are_named(load: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        _scenario(**load)


@pytest.mark.parametrize(
    ("written", "after_ns"), [(True, 30_000_000_000), ("10s", 10_000_000_000), (False, None)]
)
def test_saturation_is_looked_for_on_request(written: object, after_ns: int | None) -> None:
    scenario = _scenario(stop={"saturation": written, "in_flight": 10})
    assert scenario.schedule().stop == StopLimits(min_ended=20, in_flight=10, saturation_after_ns=after_ns)
    assert scenario_from(scenario.to_mapping()) == scenario


def test_a_closed_loop_is_never_saturated() -> None:
    load = {"arrivals": "closed", "concurrency": 3, "requests": 9, "stop": {"saturation": True}}
    with pytest.raises(ScenarioError, match=r"stop\.saturation belongs to open loops"):
        scenario_from({"name": "t", "load": load, "prompts": {"source": "text", "text": "Hi"}})
