"""R6: what the harness's own event loop did to the numbers is seen, and they are not judged."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from harness import event_loop
from harness.run import Run, run
from reports.result import Verdict
from scenarios.scenario import scenario_from
from tests.robustness.conftest import scenario_data

if TYPE_CHECKING:
    from pathlib import Path

    from support.timetable_process import TimetableProcess

MS = 1_000_000


def test_R6_a_block_of_half_a_second_makes_a_run_invalid(timetable: TimetableProcess, tmp_path: Path) -> None:
    data = scenario_data(
        {"arrivals": "constant", "rate": 50, "requests": 100}, thresholds={"ttft": ["p50 < 300ms"]}
    )

    async def main() -> Run:
        asyncio.get_running_loop().call_later(1.0, time.sleep, 0.5)
        return await run(
            scenario_from(data),
            base_url=timetable.url,
            result_dir=tmp_path / "run",
            reports=(),
            telemetry=False,
        )

    done = event_loop.run(main())
    health = done.result.health
    assert health.loop_lag_max >= 480 * MS
    assert health.loop_lag_p99 >= 350 * MS
    assert health.schedule_lag_max is not None
    assert health.schedule_lag_max >= 400 * MS
    ttft = done.result.metric("ttft")
    assert ttft is not None
    assert ttft.client_error_p99 is not None
    assert ttft.client_error_p99 >= 400 * MS
    (rule,) = done.result.rules
    assert rule.observed is not None
    assert rule.observed < 300 * MS
    assert (rule.verdict, done.exit_code) == (Verdict.INVALID, 4)
    assert "the harness's own error" in rule.message
