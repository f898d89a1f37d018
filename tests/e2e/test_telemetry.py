"""The server's own figures, from real servers to the report."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import pytest
from support.timetable_process import TimetableProcess
from support.tokenpace_command import tokenpace

from harness.run import report, run
from harness.target import Target
from harness.telemetry import page as pages
from harness.telemetry.log import Absent, Fault, Reading, read_telemetry
from harness.telemetry.page import PageClient
from reports.server_telemetry import CheckVerdict
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from pathlib import Path

    from reports.result import Result
    from scenarios.scenario import Scenario

BASE = {
    "schema": 1,
    "name": "telemetry",
    "prompts": {"source": "text", "text": ["one two three", "four five"]},
    "sampling": {"max_tokens": 8, "temperature": 0},
}


def scenario(rate: int, requests: int) -> Scenario:
    return scenario_from({**BASE, "load": {"arrivals": "constant", "rate": rate, "requests": requests}})


def differing(result: Result) -> list[str]:
    assert result.server is not None
    return [check.message for check in result.server.checks if check.verdict is not CheckVerdict.OK]


async def test_timetable_server(tmp_path: Path) -> None:
    """Tokens and requests in flight as it says itself; the report comes out of the folder the same."""
    with TimetableProcess("--ttft", "300ms", "--gap", "40ms", "--tokens", "8") as server:
        done = await run(scenario(10, 70), base_url=server.url, result_dir=tmp_path / "r")
    result = done.result
    assert result.outcomes == {"ok": 70}
    assert differing(result) == []
    assert result.server is not None
    assert result.server.dialect == "vllm"
    checks = {check.name: check for check in result.server.checks}
    assert set(checks) == {"output_tokens", "prompt_tokens", "in_flight", "littles_law"}
    assert checks["output_tokens"].server == 560
    assert checks["littles_law"].client == pytest.approx(5.5, rel=0.2)
    assert max(point.running or 0 for point in result.server.points) >= 4
    assert 'id="server"' in done.reports["html"].read_text()
    before = done.folder.result_path.read_bytes()
    assert report(done.folder).result == result
    assert done.folder.result_path.read_bytes() == before


async def test_bundled_server_agrees_in_everything(tiny_server: str, tmp_path: Path) -> None:
    """Tokens to the last one, and times that fit into each other."""
    done = await run(scenario(20, 130), base_url=tiny_server, result_dir=tmp_path / "r")
    assert done.result.server is not None
    names = [check.name for check in done.result.server.checks]
    assert names == ["output_tokens", "prompt_tokens", "ttft", "queue_time", "in_flight", "littles_law"]
    assert differing(done.result) == []
    assert done.result.server.ttft_mean is not None
    assert done.result.server.itl_mean is not None
    lines = read_telemetry(done.folder.telemetry_path)
    looks = [line for line in lines if isinstance(line, Reading)]
    assert looks[0].figures.ttft is not None
    assert looks[0].figures.ttft.buckets
    assert not any(isinstance(line, Fault) for line in lines)


async def test_another_client_is_noticed(timetable: TimetableProcess, tmp_path: Path) -> None:
    """As a remark: the run stays what it was."""
    load = asyncio.create_task(run(scenario(40, 60), base_url=timetable.url, result_dir=tmp_path / "r"))
    while not load.done():
        assert (await asyncio.to_thread(timetable.chat)).status == 200
    result = (await load).result
    assert result.verdict is None
    assert any("others may be using the server" in note for note in result.notes)


async def test_a_server_that_hangs_when_asked_for_metrics(
    timetable: TimetableProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The load doesn't suffer; the report says why there are no figures."""

    def hang(self: PageClient, path: str) -> str:
        raise pages.PageError(f"{self.url(path)} doesn't answer in time", unreachable=True)

    monkeypatch.setattr(PageClient, "get", hang)
    done = await run(scenario(50, 20), base_url=timetable.url, result_dir=tmp_path / "r")
    assert done.result.outcomes == {"ok": 20}
    assert done.result.server is None
    assert done.result.notes[-1] == (
        f"no figures of the server: {Target.parse(timetable.url).url.removesuffix('/v1')}"
        "/metrics doesn't answer in time"
    )
    assert 'id="server"' not in done.reports["html"].read_text()


async def test_a_server_without_metrics(
    timetable: TimetableProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PageClient, "paths", lambda _, page: (f"/nothing{page}",))
    done = await run(scenario(50, 20), base_url=timetable.url, result_dir=tmp_path / "r")
    assert done.exit_code == 0
    assert re.search(r"no figures of the server: .*/nothing/metrics answers 404", done.result.notes[-1])
    (line,) = read_telemetry(done.folder.telemetry_path)
    assert isinstance(line, Absent)


def test_it_can_be_left_out(timetable: TimetableProcess, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    done = tokenpace("run", "smoke", "--no-telemetry", "--base-url", timetable.url, "--output", folder)
    assert done.returncode == 0, done.stderr
    assert not (folder / "telemetry.jsonl").exists()
    assert "figures of the server" not in done.stdout
