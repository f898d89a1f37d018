"""``tokenpace calibrate`` as a user calls it, and the bound that a run states against the server's log."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from harness.calibration.calibration import Calibration
from harness.calibration.kept import keep
from harness.calibration.load import measure
from harness.calibration.timetable import Timetable
from harness.environment import environment
from reports.result import load

if TYPE_CHECKING:
    from pathlib import Path

    from support.timetable_process import TimetableProcess

TRIES = 4
SCENARIO = """
schema: 1
name: x
load: {arrivals: closed, concurrency: 1, requests: 3}
prompts: {source: text, text: [one two]}
"""


def tokenpace(*arguments: object, state: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "XDG_STATE_HOME": str(state)},
        check=False,
    )


def test_measures_the_machine_and_keeps_it(tmp_path: Path) -> None:
    """On a busy machine it may trust nothing, and says so; the comparison itself must always be made."""
    file = tmp_path / "calibration.json"
    done = tokenpace("calibrate", "--quick", "--within", "1s", "--json", file, state=tmp_path / "state")
    assert done.returncode in (0, 1), done.stderr
    found = msgspec.json.decode(file.read_bytes(), type=Calibration)
    assert [each.streams for each in found.levels] in ([1, 16, 64], [1, 16])
    assert [each.num_ttfts for each in found.levels][:2] == [8, 48]
    assert all(each.num_gaps == each.num_ttfts * 63 for each in found.levels)
    assert all(each.chunks_per_s > 50 * each.streams for each in found.levels[:2])
    assert (done.returncode == 0) == (found.trusted is not None) == ("trusted up to" in done.stdout)
    assert (tmp_path / "state" / "tokenpace" / "calibration.json").read_bytes() == file.read_bytes()


def test_a_later_run_beyond_it_says_so(tmp_path: Path, timetable: TimetableProcess) -> None:
    """And its report made again says the same."""
    nothing = Calibration(
        tool_version="0",
        made_at="2026-11-30T10:00:00+00:00",
        machine=environment(),
        workers=1,
        limit_ns=1,
        levels=(),
    )
    keep(nothing, tmp_path / "state" / "tokenpace" / "calibration.json")
    scenario, folder = tmp_path / "x.yaml", tmp_path / "run"
    scenario.write_text(SCENARIO)
    done = tokenpace(
        *("run", scenario, "--base-url", timetable.url, "--output", folder), state=tmp_path / "state"
    )
    assert done.returncode == 0, done.stderr
    assert any("never checked there" in note for note in load(folder / "result.json").notes)
    (folder / "result.json").unlink()
    tokenpace("report", folder, state=tmp_path / "elsewhere")
    assert any("never checked there" in note for note in load(folder / "result.json").notes)


def test_bad_usage_is_one_clear_message(tmp_path: Path) -> None:
    done = tokenpace("calibrate", "--within", "soon", state=tmp_path)
    assert done.returncode == 2
    assert "--within" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_bound_that_a_run_states_holds_for_99_of_100_of_its_samples() -> None:
    """Against the timetable's log: TTFT from the sending, and every gap. A busy machine gets four tries."""
    seen = []
    with Timetable("--ttft", "50ms", "--gap", "10ms") as server:
        for _ in range(TRIES):
            run = measure(server, streams=32, rounds=4)
            ttfts, gaps = np.abs(run.errors.first_stamps), np.abs(run.errors.gaps)
            assert (ttfts.size, gaps.size) == (128, 128 * 63)
            assert run.health.stamp_error_p99 is not None
            assert run.health.interval_error_p99 is not None
            seen.append(
                (
                    float(np.mean(ttfts <= run.health.stamp_error_p99)),
                    float(np.mean(gaps <= run.health.interval_error_p99)),
                )
            )
            if min(seen[-1]) >= 0.99:
                return
    raise AssertionError(seen)
