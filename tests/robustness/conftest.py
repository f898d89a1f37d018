"""Real servers, real runs: what the robustness goals R1 to R10 of the harness need."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness import event_loop
from harness.client import Client
from harness.drivers import generate
from harness.record import Record
from harness.run import Run, run
from harness.target import Target
from scenarios.request import Arrival, Prompt
from scenarios.scenario import scenario_from
from scenarios.schedule import Schedule
from scenarios.timeouts import Timeouts

Write = Callable[..., Path]
Perform = Callable[..., Run]
Send = Callable[..., list[Record]]
Tokenpace = Callable[..., subprocess.CompletedProcess[str]]


def scenario_data(load: dict[str, Any], *, tokens: int = 4, **keys: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "name": "robust",
        "load": load,
        "prompts": {"source": "text", "text": ["one two three"]},
        "sampling": {"max_tokens": tokens},
        **keys,
    }


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a scenario file."""

    def make(load: dict[str, Any], **keys: Any) -> Path:
        path = tmp_path / "robust.yaml"
        path.write_text(yaml.safe_dump(scenario_data(load, **keys)))
        return path

    return make


@pytest.fixture
def perform(tmp_path: Path) -> Perform:
    """Run a scenario in this process."""
    folders = iter(range(1_000))

    def make(url: str, load: dict[str, Any], *, tokens: int = 4, keys: Any = None, **options: Any) -> Run:
        scenario = scenario_from(scenario_data(load, tokens=tokens, **(keys or {})))
        given = {"model": "m", "reports": (), "telemetry": False, **options}
        folder = tmp_path / f"run-{next(folders)}"
        return event_loop.run(run(scenario, base_url=url, result_dir=folder, **given))

    return make


@pytest.fixture
def send() -> Send:
    """Send ``num`` requests by ``slots`` slots, without a look at the server before: the records."""

    def make(
        url: str, num: int, *, slots: int = 20, timeouts_s: dict[str, float] | None = None
    ) -> list[Record]:
        limits_ns = {name: round(seconds * 1e9) for name, seconds in (timeouts_s or {}).items()}

        async def main() -> list[Record]:
            client = Client(Target.parse(url), "chat", "m", Timeouts().model_copy(update=limits_ns))
            arrivals = (
                Arrival(index=index, due_ns=None, prompt=Prompt(text="hello"), sampling={})
                for index in range(num)
            )
            records: list[Record] = []
            schedule = Schedule(arrivals=arrivals, loop="closed", concurrency=slots, num_requests=num)
            try:
                await generate(schedule, client, records.append, asyncio.Event())
            finally:
                await client.close()
            return records

        return event_loop.run(main())

    return make


@pytest.fixture
def tokenpace() -> Tokenpace:
    """The command, in a process of its own."""

    def call(*arguments: object, code: str | None = None) -> subprocess.CompletedProcess[str]:
        program = ["-m", "harness"] if code is None else ["-c", code]
        return subprocess.run(
            [sys.executable, *program, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=250,
            env={**os.environ, "NO_COLOR": "1"},
            check=False,
        )

    return call
