"""Whatever stands in a scenario: it is run, or refused with a ScenarioError that names the key."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scenarios import library
from scenarios.documents import dotted
from scenarios.errors import ScenarioError
from scenarios.scenario import load_scenario, scenario_from

if TYPE_CHECKING:
    from pathlib import Path

BASES = {
    name: yaml.safe_load(library.find(name).read_text(encoding="utf-8"))
    for name in ("chat", "burst", "long-decode")
}
BASES["stages"] = {
    "name": "stages",
    "load": {"arrivals": "stages", "stages": [{"rate": 2, "to": 4, "duration": "9s"}], "cooldown": "1s"},
    "prompts": {"source": "shared_prefix", "prefix_length": 9, "length": {"min": 1, "max": 3}},
    "timeouts": {"total": "30s"},
    "tags": {"a": "b"},
}

_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["5s", "1h", "0s", "5%", "3/s", "> 5", "0", "-1"]),
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


def _paths(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *itertools.chain.from_iterable(_paths(value, (*path, key)) for key, value in inner)]


def _replaced(data: Any, path: tuple[str | int, ...], value: object) -> Any:
    if not path:
        return value
    copy = data.copy()
    copy[path[0]] = _replaced(data[path[0]], path[1:], value)
    return copy


@pytest.mark.parametrize("base", BASES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), value=_values)
def test_any_value_anywhere_is_run_or_refused(base: str, data: st.DataObject, value: object) -> None:
    path = data.draw(st.sampled_from(_paths(BASES[base])[1:]), label="path")
    refusal = None
    try:
        scenario = scenario_from(_replaced(BASES[base], path, value))
    except ScenarioError as error:
        refusal = str(error)
    if refusal is not None:
        assert str(path[0]) in refusal, dotted(path)
        return
    arrivals = list(itertools.islice(scenario.schedule().arrivals, 3))
    assert all(arrival.due_ns is None or arrival.due_ns >= 0 for arrival in arrivals)
    assert scenario_from(scenario.to_mapping()) == scenario


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"%@#,? \n\t\u0085\u2028\x00")))
@example(text="? [a]\n: b\n")
@example(text="? {a: b}\n: c\n")
@example(text="<<: 5\n")
@example(text="!!python/object:os.system x: y\n")
@example(text="a: !!timestamp x\n")
@example(text="a: 2026-99-99\n")
@example(text="a: !!int x\n")
@example(text="a: !!bool x\n")
@example(text="a = " + "[" * 5000)
@example(text="[" * 5000)
def test_any_text_is_refused_politely(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(ScenarioError, match=r"a\.yaml"):
        load_scenario(path)
    path.rename(tmp_path / "a.toml")
    with pytest.raises(ScenarioError, match=r"a\.toml"):
        load_scenario(tmp_path / "a.toml")


@settings(max_examples=60, deadline=None)
@given(key=st.text(max_size=12), value=st.text(max_size=12))
@example(key="load.rate", value="!!python/name:os.system")
@example(key="load.rate", value="[" * 5000)
@example(key="seed", value="2026-99-99")
def test_any_override_is_taken_or_refused(key: str, value: str) -> None:
    refusal = "--set"
    try:
        load_scenario("smoke", {key: value})
    except ScenarioError as error:
        refusal = str(error)
    assert "--set" in refusal
