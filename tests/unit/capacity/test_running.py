"""A probe against a server that is gone after it, and against one that is still there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from support.client_health import healthy
from support.result_folders import result_folder, ten_a_second

from harness.address import Address
from harness.campaign.folder import CampaignFolder
from harness.campaign.interrupted import Interrupted
from harness.campaign.order import Order
from harness.capacity import running
from harness.capacity.axis import axis_of
from harness.capacity.folder import SEARCH
from harness.capacity.running import RunProber
from harness.capacity.search import Search, Step
from harness.result_folder import Checkpoint
from harness.run import report
from harness.sla.grammar import rules_from
from reports.result import Verdict
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from pathlib import Path

    from harness.run import Run
    from reports.capacity.search import Probe
    from tests.conftest import MakeRecord
    from tests.unit.capacity.conftest import MakeLimits, MakeProbe

MODELS = b'{"object": "list", "data": [{"id": "m"}]}'
SCENARIO = ten_a_second(100, thresholds={"error_rate": ["< 5%"]})


@pytest.fixture(params=[0.4, 0.9], ids=["some-failed", "most-failed"])
def run(request: pytest.FixtureRequest, tmp_path: Path, make_record: MakeRecord) -> Run:
    """Its last requests failed."""
    first = round(100 * (1 - request.param))
    records = [
        make_record(i, due=100 * i, chunks=(100,))
        if i < first
        else make_record(i, due=100 * i, chunks=(), outcome="connect_error", message="refused")
        for i in range(100)
    ]
    folder = result_folder(tmp_path / "run", records, scenario=SCENARIO)
    elapsed = max(record.done_ns for record in records)
    folder.save(Checkpoint(elapsed_ns=elapsed, finished=True, interrupted=None, health=healthy()))
    return report(folder, ())


async def _probe(port: int, tmp_path: Path, passed: Probe) -> Probe:
    scenario = scenario_from(SCENARIO)
    address = Address(base_url=f"http://127.0.0.1:{port}", api_key=None, headers={}, verify=True, proxy=None)
    prober = RunProber(
        scenario,
        axis_of(scenario, rules_from(scenario.thresholds)),
        CampaignFolder(tmp_path / "search", SEARCH),
        Order(address=address, telemetry=False, quiet=True),
        "m",
    )
    probe = await prober(Step(10.0, 1.0), (passed,))
    assert not isinstance(probe, Interrupted)
    return probe


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_dead_server_bounds_no_capacity(
    run: Run,
    tmp_path: Path,
    make_probe: MakeProbe,
    make_limits: MakeLimits,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_there: bool,
) -> None:
    async def run_one(*_: Any) -> Run:
        return run

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(MODELS)}\r\n\r\n"
        writer.write(head.encode() + MODELS)
        await writer.drain()
        writer.close()

    monkeypatch.setattr(running, "run_one", run_one)
    passed = make_probe(4, "PASS")
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        if not is_there:
            server.close()
            await server.wait_closed()
        probe = await _probe(port, tmp_path, passed)
    search = Search(make_limits(), [passed, probe])
    assert (probe.verdict, search.least_fail) == (
        (Verdict.FAIL, 10.0) if is_there else (Verdict.INVALID, None)
    )
    assert ("the server is gone since this probe" in probe.reason) is not is_there
