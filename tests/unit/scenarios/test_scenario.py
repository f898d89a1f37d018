"""Scenarios as wholes: files, determinism, the library."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from scenarios import library
from scenarios.scenario import Scenario, load_scenario, scenario_from

if TYPE_CHECKING:
    from pathlib import Path

TOML = """\
name = "mine"
tags = { gpu = "H200" }

[load]
arrivals = "poisson"
rate = 4
duration = "30s"

[prompts]
source = "synthetic"
length = { mean = 20, stdev = 5 }

[thresholds]
ttft = ["p99 < 500ms", "mean < 100ms"]
error_rate = "< 1%"
"""


def _digest(scenario: Scenario) -> str:
    encoded = msgspec.json.encode(list(scenario.schedule().arrivals))
    return hashlib.sha256(encoded).hexdigest()


def test_toml_and_yaml_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TOML, encoding="utf-8")
    scenario = load_scenario(tmp_path / "mine.toml")
    assert scenario.thresholds == {"ttft": ("p99 < 500ms", "mean < 100ms"), "error_rate": ("< 1%",)}
    (tmp_path / "mine.yaml").write_text(msgspec.yaml.encode(scenario.to_mapping()).decode(), encoding="utf-8")
    assert load_scenario(tmp_path / "mine.yaml") == scenario


@pytest.mark.parametrize("suffix", ["toml", "yaml"])
def test_a_byte_order_mark_is_no_fault(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "mine.toml").write_text(TOML, encoding="utf-8-sig")
    (tmp_path / "mine.yaml").write_text(
        library.find("chat").read_text(encoding="utf-8"), encoding="utf-8-sig"
    )
    assert load_scenario(tmp_path / f"mine.{suffix}").name in ("mine", "chat")


def test_file_is_found_beside_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the working directory is."""
    folder = tmp_path / "team"
    folder.mkdir()
    (folder / "p.jsonl").write_text('"Hi"\n', encoding="utf-8")
    text = TOML.replace(
        'source = "synthetic"\nlength = { mean = 20, stdev = 5 }', 'source = "jsonl"\nfile = "p.jsonl"'
    )
    (folder / "mine.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    schedule = load_scenario("team/mine.toml").schedule()
    assert next(schedule.arrivals).prompt.text == "Hi"


def test_unset_keys_have_the_stated_defaults() -> None:
    load = {"arrivals": "closed", "concurrency": 1, "requests": 1}
    scenario = scenario_from({"name": "bare", "load": load, "prompts": {"source": "text", "text": "Hi"}})
    assert (scenario.schema_version, scenario.endpoint, scenario.model) == (1, "chat", None)
    assert (scenario.confidence, scenario.stall_limit, scenario.seed, scenario.samples) == (0.95, 10**9, 0, 3)
    assert next(scenario.schedule().arrivals).sampling == {}


def test_confidence_may_be_written_in_per_cent() -> None:
    assert load_scenario("chat", {"confidence": "99%"}).confidence == 0.99


@pytest.mark.parametrize("confidence", ["1", "0.3", "100%"])
def test_confidence_that_decides_nothing_is_refused(confidence: str) -> None:
    with pytest.raises(ValueError, match=r"confidence: must be at least 0\.5 and less than 1"):
        load_scenario("chat", {"confidence": confidence})


def test_sources_of_chance_are_independent() -> None:
    """Other prompts and limits don't move an arrival; other arrivals don't change a prompt."""
    plain = list(load_scenario("burst").schedule().arrivals)
    longer = list(
        load_scenario("burst", {"prompts.length": "7", "sampling.max_tokens": "5"}).schedule().arrivals
    )
    faster = list(load_scenario("burst", {"load.rate": "9", "load.burstiness": "1"}).schedule().arrivals)
    assert [arrival.due_ns for arrival in plain] == [arrival.due_ns for arrival in longer]
    assert [(a.prompt, a.sampling) for a in plain] == [(a.prompt, a.sampling) for a in faster[: len(plain)]]


def test_seed_changes_times_prompts_and_limits() -> None:
    first, second = (list(load_scenario("burst", {"seed": seed}).schedule().arrivals) for seed in ("1", "2"))
    assert first[0].due_ns != second[0].due_ns
    assert first[0].prompt != second[0].prompt
    assert [a.sampling for a in first[:20]] != [a.sampling for a in second[:20]]


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_schedule_is_the_same_bytes_in_every_process(hash_seed: str) -> None:
    program = (
        "import hashlib, msgspec; from scenarios.scenario import load_scenario as load;"
        "arrivals = list(load('burst', {'seed': '5'}).schedule().arrivals);"
        "print(hashlib.sha256(msgspec.json.encode(arrivals)).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == _digest(load_scenario("burst", {"seed": "5"}))


def test_schedule_is_the_same_as_in_earlier_releases() -> None:
    """A change here breaks comparisons with stored runs: it needs a line in the changelog."""
    overrides = {"prompts": "{source: text, text: Hi}", "sampling": "{max_tokens: {min: 1, max: 99}}"}
    arrivals = list(load_scenario("burst", {"seed": "5", **overrides}).schedule().arrivals)
    assert [arrival.due_ns for arrival in arrivals[:3]] == [715193, 2334130779, 2415681953]
    assert [arrival.sampling["max_tokens"] for arrival in arrivals[:3]] == [33, 93, 74]


@pytest.mark.parametrize("name", library.names())
def test_library_scenario_loads_and_schedules(name: str) -> None:
    scenario = load_scenario(name)
    assert scenario.name == name
    assert scenario.description.endswith(".")
    schedule = scenario.schedule()
    indices = [turn.index for arrival in schedule.arrivals for turn in (arrival, *arrival.later)]
    assert len(indices) >= 10
    assert indices == list(range(len(indices)))
    assert scenario_from(scenario.to_mapping()) == scenario


@pytest.mark.parametrize("name", library.names())
def test_library_scenario_can_be_made_small(name: str) -> None:
    overrides = {"load": "{arrivals: closed, concurrency: 1, requests: 2}", "sampling.max_tokens": "4"}
    assert len(list(load_scenario(name, overrides).schedule().arrivals)) == 2


def test_library_holds_what_it_is_said_to_hold() -> None:
    expected = {"chat", "smoke", "rag", "code", "long-decode", "summarise", "burst", "soak"}
    assert expected <= set(library.names())


def _allowed_misses(condition: str) -> float:
    """The share of requests that may miss: 0.05 of ``p95 < 500ms``, 0.01 of ``< 1%``, 1 of a mean."""
    if percentile := re.match(r"p([\d.]+)", condition):
        return 1 - float(percentile[1]) / 100
    share = re.fullmatch(r"< ([\d.]+)%", condition)
    return float(share[1]) / 100 if share else 1.0


@pytest.mark.parametrize("name", library.names())
def test_library_scenario_has_enough_requests_to_pass(name: str) -> None:
    """Without a miss, n requests prove a share p of them with confidence c where (1 - p)**n <= 1 - c."""
    scenario = load_scenario(name)
    measured = [a for a in scenario.schedule().arrivals if (a.due_ns or 0) >= scenario.load.warmup_ns]
    conditions = [condition for each in scenario.thresholds.values() for condition in each]
    for condition in conditions:
        assert (1 - _allowed_misses(condition)) ** len(measured) <= 1 - scenario.confidence, condition


def test_chat_can_pass_with_a_miss_within_a_minute() -> None:
    arrivals = list(load_scenario("chat").schedule().arrivals)
    assert len(arrivals) >= 93
    assert max(a.due_ns or 0 for a in arrivals) < 60e9


def test_import_is_light() -> None:
    """No network, no server, no statistics package: a command line starts with this import."""
    program = "import sys, scenarios.scenario; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert not loaded & {
        "aiohttp",
        "httpx",
        "torch",
        "scipy",
        "harness",
        "reference_server",
        "reports",
        "hdrh",
    }
