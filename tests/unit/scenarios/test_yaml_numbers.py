"""Numbers in YAML files: what people take them for, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.sweep.grid import SweepError, parse_axis
from scenarios.errors import ScenarioError
from scenarios.scenario import Scenario, load_scenario

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """\
name: a
prompts: {source: text, text: Hi}
load:
  arrivals: poisson
  duration: 1h
"""


def _load(folder: Path, text: str) -> Scenario:
    (folder / "a.yaml").write_text(HEAD + text + "\n", encoding="utf-8")
    return load_scenario(folder / "a.yaml")


def _fault(folder: Path, text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        _load(folder, text)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("written", "rate"),
    [("1e3", 1000.0), ("1E+3", 1000.0), ("25e-1", 2.5), (".5e1", 5.0), ("+1e1", 10.0), ("0x10", 16.0)],
)
def test_an_exponent_makes_a_number(tmp_path: Path, written: str, rate: float) -> None:
    assert getattr(_load(tmp_path, f"  rate: {written}").load, "rate") == rate  # noqa: B009 (of some kinds alone)


def test_a_number_out_of_reach_is_refused_as_a_number(tmp_path: Path) -> None:
    assert "load.rate: must be from 1e-09 to 1,000,000 per second, not 1e+300" in _fault(
        tmp_path, "  rate: 1e300"
    )
    text = "  rate: 5\nsampling: {max_tokens: 1e12}"
    assert "sampling.max_tokens: must be at most 10000000, not 1000000000000.0" in _fault(tmp_path, text)
    text = "  rate: 5\nsampling: {max_tokens: {mean: 1e12}}"
    assert "sampling.max_tokens.mean: must be less than or equal to 10000000" in _fault(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "  rate: 010",
            "a.yaml:6: load.rate: 010 is 8 in YAML, an octal number; write 10; a text stands in quotes",
        ),
        (
            "  rate: 1:30",
            "a.yaml:6: load.rate: 1:30 counts in sixties in YAML; write a plain number, or a dura",
        ),
        ("  rate: 1:30.5", "a.yaml:6: load.rate: 1:30.5 counts in sixties"),
        ("  rate: 5\nsampling:\n  stop: [a, 00017]", "a.yaml:8: sampling.stop[1]: 00017 is 15 in YAML"),
    ],
)
def test_a_number_that_yaml_reads_as_another_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    assert _fault(tmp_path, text).startswith(fault)


def test_set_reads_numbers_alike() -> None:
    scenario = load_scenario("chat", {"load.rate": "1e1", "sampling.temperature": "5e-1"})
    assert (getattr(scenario.load, "rate"), scenario.sampling.temperature) == (10.0, 0.5)  # noqa: B009 (as above)
    with pytest.raises(ScenarioError, match=r"^--set load\.rate: 010 is 8 in YAML"):
        load_scenario("chat", {"load.rate": "010"})
    with pytest.raises(ScenarioError, match=r"^--set load: 1:30 counts in sixties"):
        load_scenario("chat", {"load": "{arrivals: poisson, rate: 1:30, requests: 5}"})


def test_tags_are_words_as_they_were_written(tmp_path: Path) -> None:
    scenario = _load(tmp_path, "  rate: 5\ntags: {commit: 123e4, version: 1.10, build: 010, run: 3}")
    assert scenario.tags == {"commit": "123e4", "version": "1.10", "build": "010", "run": "3"}
    assert load_scenario("chat", {"tags.commit": "123e4", "tags.n": "1.10"}).tags == {
        "commit": "123e4",
        "n": "1.10",
    }


def test_a_sweep_reads_numbers_alike() -> None:
    assert parse_axis("load.rate", "1e1,2e1").values == (10.0, 20.0)
    with pytest.raises(SweepError, match=r"^--over load\.rate: 010 is 8 in YAML"):
        parse_axis("load.rate", "010,020")
