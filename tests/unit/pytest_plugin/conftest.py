"""A project of its own for each test, and a spine that sends nothing."""

from __future__ import annotations

import asyncio
import importlib
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from harness.sla.grammar import rules_from
from harness.sla.judge import judge
from harness.summary import Summarizer
from reports.result import SCHEMA_VERSION, ClientHealth, Result

if TYPE_CHECKING:
    from pathlib import Path

    from harness.record import Record
    from scenarios.scenario import Scenario
    from tests.conftest import MakeRecord

# A session within a session forgets what it imports; what is imported here stays, and stays one.
for _name in ("loading", "marker", "reporting"):
    importlib.import_module(f"harness.pytest.{_name}")
importlib.import_module("harness.run")

INI = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
"""
HEALTH = ClientHealth(
    loop_lag_p99=100_000,
    loop_lag_max=100_000,
    schedule_lag_p99=None,
    schedule_lag_max=None,
    gc_pause_max=0,
    gc_pause_total=0,
    cpu_share=0.0,
    coalesced_chunks=0,
    num_chunks=1,
    clock_resolution=1,
)


class Finished(NamedTuple):
    """As ``harness.run.Run``."""

    result: Result
    records: tuple[Record, ...]


class FakeSpine:
    """Answers each request of a schedule with a TTFT of 100 ms and 10 ms between tokens.

    Attributes:
        calls: Arguments of each run.
        failing: So many requests of each run fail.
    """

    def __init__(self, make_record: MakeRecord) -> None:
        self.calls: list[dict[str, Any]] = []
        self.failing = 0
        self._make_record = make_record

    async def __call__(  # noqa: D102 (as harness.run.run)
        self, scenario: Scenario, *, result_dir: Path, **arguments: Any
    ) -> Finished:
        self.calls.append({"scenario": scenario, "result_dir": result_dir, **arguments})
        await asyncio.sleep(0)
        schedule, rules = scenario.schedule(), rules_from(scenario.thresholds)
        summarizer = Summarizer.of_schedule(schedule, rules=rules)
        records = tuple(self._record(arrival.index) for arrival in scenario.schedule().arrivals)
        for record in records:
            summarizer.add(record)
        duration_ns = max(record.done_ns for record in records)
        snapshot = summarizer.snapshot(ended_ns=duration_ns, health=HEALTH)
        judgement = judge(rules, snapshot, HEALTH, scenario.confidence)
        result = Result(
            schema_version=SCHEMA_VERSION,
            tool_version="0",
            scenario_name=scenario.name,
            scenario=scenario.to_mapping(),
            base_url=arguments["base_url"],
            model="m",
            endpoint=scenario.endpoint,
            loop=schedule.loop,
            seed=0,
            started_at="2026-01-01T00:00:00+00:00",
            duration_s=duration_ns / 1e9,
            verdict=judgement.verdict,
            causes=judgement.causes,
            interrupted=None,
            rules=judgement.rules,
            health=HEALTH,
            environment={},
            **summarizer.summary(snapshot).fields(),
        )
        return Finished(result, records)

    def _record(self, index: int) -> Record:
        if index < self.failing:
            return self._make_record(index, due=10 * index, chunks=(), outcome="reset", message="gone")
        return self._make_record(index, due=10 * index, answer=f"answer {index}", prompt="p")


@pytest.fixture
def spine(monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord) -> FakeSpine:
    fake = FakeSpine(make_record)
    monkeypatch.setattr("harness.run.run", fake)
    return fake


@pytest.fixture(autouse=True)
def _environment_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a developer has set for their own tests steers none of ours."""
    for name in os.environ:
        if name.startswith(("SLA_", "OPENAI_", "PYTEST_")) and name != "PYTEST_CURRENT_TEST":
            monkeypatch.delenv(name)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, spine: FakeSpine) -> pytest.Pytester:
    """Where tests of a user stand; its server is never asked for anything."""
    del spine
    monkeypatch.setenv("SLA_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "harness.pytest_plugin,pytest_asyncio.plugin")
    pytester.makeini(INI)
    return pytester
