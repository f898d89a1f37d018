"""A run is judged again without the files that it was sent from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.past_scenario import past_scenario
from scenarios.errors import ScenarioError
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from pathlib import Path

TRACE = "Timestamp,Request tokens,Response tokens\n0,5,5\n9,5,5\n"


def test_files_of_the_load_are_not_asked_for(tmp_path: Path) -> None:
    for name, text in (("t.csv", TRACE), ("p.jsonl", '"Hi"\n'), ("tokenizer.json", "{}")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    data = {
        "name": "mine",
        "tokenizer": "tokenizer.json",
        "load": {"arrivals": "replay", "file": "t.csv", "format": "burstgpt"},
        "prompts": {"source": "jsonl", "file": "p.jsonl"},
        "thresholds": {"ttft": ["p95 < 1s"]},
        "confidence": "99%",
        "samples": 7,
        "seed": 5,
    }
    scenario = scenario_from(data, folder=tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    past = past_scenario(scenario.to_mapping())
    kept = ("name", "thresholds", "confidence", "samples", "seed", "endpoint", "stall_limit")
    assert [getattr(past, key) for key in kept] == [getattr(scenario, key) for key in kept]
    with pytest.raises(ScenarioError, match="no file"):
        scenario_from(scenario.to_mapping())
