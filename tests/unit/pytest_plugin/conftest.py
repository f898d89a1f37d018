"""A project of its own for each test, and a spine that sends nothing."""

from __future__ import annotations

import asyncio
import importlib
import os
from typing import TYPE_CHECKING, Any

import pytest

from harness.sla.grammar import rules_from
from harness.sla.judge import judge
from harness.sla.preconditions import demand_judgeable
from harness.summary import Summarizer
from reports.result import SCHEMA_VERSION, ClientHealth, Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from harness.record import Record
    from scenarios.scenario import Scenario
    from tests.conftest import MakeRecord

# A session within a session forgets what it imports; what is imported here stays, and stays one.
for _name in ("reporting", "sender", "shared_load", "summary", "turns", "verdicts"):
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


class Finished:
    """As ``harness.run.Run``, of the records given."""

    fault: Exception | None = None

    def __init__(self, scenario: Scenario, base_url: str, records: tuple[Record, ...]) -> None:
        self._base_url = base_url
        self._scenario = scenario
        self.records = records
        self.result = self.judged_with({})

    def judged_with(self, thresholds: Mapping[str, Sequence[str]], baseline: object = None) -> Result:
        """As if these objectives had been stated too."""
        del baseline
        stated = {key: list(texts) for key, texts in self._scenario.thresholds.items()}
        for key, texts in thresholds.items():
            stated[key] = [*stated.get(key, ()), *texts]
        scenario, rules = self._scenario, rules_from(stated)
        schedule = scenario.schedule()
        demand_judgeable(rules, loop=schedule.loop, deadlines=scenario.token_deadlines is not None)
        summarizer = Summarizer.of_schedule(schedule, rules=rules)
        for record in self.records:
            summarizer.add(record)
        duration_ns = max(record.done_ns for record in self.records)
        snapshot = summarizer.snapshot(ended_ns=duration_ns, health=HEALTH)
        judgement = judge(rules, snapshot, HEALTH, scenario.confidence)
        return Result(
            schema_version=SCHEMA_VERSION,
            tool_version="0",
            scenario_name=scenario.name,
            scenario=scenario.to_mapping(),
            base_url=self._base_url,
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


class FakeSpine:
    """Answers each request of a schedule with a TTFT of 100 ms and 10 ms between tokens.

    Attributes:
        calls: Arguments of each run.
        failing: So many requests of each run fail.
        in_a_row: Whether those are neighbours.
    """

    def __init__(self, make_record: MakeRecord) -> None:
        self.calls: list[dict[str, Any]] = []
        self.failing = 0
        self.in_a_row = False
        self._make_record = make_record

    async def __call__(  # noqa: D102 (as harness.run.run)
        self, scenario: Scenario, *, result_dir: Path, **arguments: Any
    ) -> Finished:
        self.calls.append({"scenario": scenario, "result_dir": result_dir, **arguments})
        await asyncio.sleep(0)
        arrivals = tuple(scenario.schedule().arrivals)
        records = tuple(self._record(arrival.index, len(arrivals)) for arrival in arrivals)
        return Finished(scenario, arguments["base_url"], records)

    def _record(self, index: int, num: int) -> Record:
        """Failures are strewn over the run, so that they say nothing of their neighbours, or in a row."""
        if index * (1 if self.in_a_row else 37) % num < self.failing:
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
