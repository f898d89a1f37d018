"""The points of a sweep."""

from __future__ import annotations

from typing import Any

import pytest

from harness.sweep.grid import Grid, SweepError, as_overrides, parse_axis
from scenarios.scenario import scenario_from

SCENARIO = {
    "name": "x",
    "load": {"arrivals": "poisson", "rate": 4, "duration": "60s"},
    "prompts": {"source": "text", "text": "hello"},
}


def test_every_combination_the_last_key_fastest() -> None:
    grid = Grid([parse_axis("load.rate", "1,2"), parse_axis("sampling.max_tokens", "16,32")])
    assert list(grid) == [
        {"load.rate": 1, "sampling.max_tokens": 16},
        {"load.rate": 1, "sampling.max_tokens": 32},
        {"load.rate": 2, "sampling.max_tokens": 16},
        {"load.rate": 2, "sampling.max_tokens": 32},
    ]
    assert len(grid) == 4


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1, 2.5,4", (1, 2.5, 4)),
        ("10s,1m", ("10s", "1m")),
        ("[a, b], c", (["a", "b"], "c")),
        ("'a,b', c", ("a,b", "c")),
        ("null, 3", (None, 3)),
    ],
)
def test_values_are_written_as_in_yaml(text: str, values: tuple[Any, ...]) -> None:
    assert parse_axis("k", text).values == values


@pytest.mark.parametrize("text", ["", "[1", "1,2,1"])
def test_what_is_no_list_of_values_is_refused(text: str) -> None:
    with pytest.raises(SweepError, match=r"--over load\.rate"):
        parse_axis("load.rate", text)


def test_grids_that_can_not_be_are_refused() -> None:
    axis = parse_axis("load.rate", "1,2")
    with pytest.raises(SweepError, match="nothing to vary"):
        Grid([])
    with pytest.raises(SweepError, match="twice"):
        Grid([axis, axis])
    many = ",".join(map(str, range(40)))
    with pytest.raises(SweepError, match="1,600 points"):
        Grid([parse_axis("load.rate", many), parse_axis("seed", many)])


def test_a_point_is_a_scenario() -> None:
    (values,) = Grid([parse_axis("prompts.text", "'so, so'")])
    scenario = scenario_from(SCENARIO, as_overrides(values))
    assert [arrival.prompt for arrival in list(scenario.schedule().arrivals)[:1]]
    assert scenario.to_mapping()["prompts"]["text"] in ("so, so", ["so, so"])
