"""Calibration: the comparison with a log, the levels, what is kept and what a run says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.client_health import healthy

from harness.calibration import kept
from harness.calibration.calibration import SCHEMA_VERSION, Calibration
from harness.calibration.comparison import ComparisonError, Errors, LogLine, errors
from harness.calibration.level import Level, level
from harness.calibration.measured import Measured
from harness.calibration.timetable import Timetable, TimetableError
from harness.environment import environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MakeRecord

US, MS = 1_000, 1_000_000
START = 77 * 10**9


def line(index: int, arrival: float, *tokens: float) -> LogLine:
    """A line of the log; times in ms after the start of the run."""
    return LogLine(
        f"tokenpace-12ab34cd-{index}", START + round(arrival * MS), [START + round(t * MS) for t in tokens]
    )


def test_every_stamp_is_held_against_its_token(make_record: MakeRecord) -> None:
    records = [make_record(0, due=0, chunks=(100, 112, 120)), make_record(1, due=5, chunks=(100, 110, 120))]
    log = [line(1, 6, 104, 114, 124.5), line(0, 0.25, 99, 110, 119.5)]
    found = errors(records, log, START)
    assert found.first_stamps.tolist() == [1 * MS, 1 * MS]
    assert found.gaps.tolist() == [1 * MS, -1.5 * MS, 0, -0.5 * MS]
    assert found.with_way.tolist() == [1.25 * MS, 2 * MS]


def test_other_clients_in_the_log_are_passed_over(make_record: MakeRecord) -> None:
    log = [LogLine(None, 0, [1]), LogLine("somebody-else", 0, [1, 2]), line(0, 0, 100, 110, 120, 130)]
    assert errors([make_record(0)], log, START).first_stamps.tolist() == [0]


@pytest.mark.parametrize("log", [[], [line(0, 0, 100, 110)], [line(3, 0, 100, 110, 120, 130)]])
def test_a_log_that_does_not_fit_is_refused(make_record: MakeRecord, log: list[LogLine]) -> None:
    with pytest.raises(ComparisonError, match="request 0 is not in the timetable server's log"):
        errors([make_record(0)], log, START)


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(ComparisonError, match="nothing to compare"):
        errors([], [], START)


def measured(
    ttfts_us: list[int], gaps_us: list[int], *, stamp_us: int = 900, interval_us: int = 1_000
) -> Measured:
    health = healthy(
        cpu_share=0.25, num_chunks=5_000, stamp_error_p99=stamp_us * US, interval_error_p99=interval_us * US
    )
    ttfts, gaps = np.array(ttfts_us, np.int64) * US, np.array(gaps_us, np.int64) * US
    return Measured(health, Errors(ttfts, gaps, ttfts + 50 * US), 2.5)


GOOD = measured([100] * 200, [-300, 300] * 500)


def test_the_bound_of_one_run_is_held_against_the_samples_of_the_next() -> None:
    stating = measured([5_000] * 200, [5_000] * 1_000, stamp_us=700, interval_us=800)
    found = level(16, stating, GOOD, limit_ns=MS)
    assert found.trusted
    assert (found.ttft_bound, found.gap_bound, found.bound) == (700 * US, 800 * US, 800 * US)
    assert (found.num_ttfts, found.num_gaps, found.chunks_per_s) == (200, 1_000, 2_000)
    assert (found.ttft_error_p50, found.gap_error_p99, found.with_way_p50) == (100 * US, 300 * US, 150 * US)
    assert (found.ttft_within, found.gap_within) == (1, 1)


@pytest.mark.parametrize(
    ("ttft_misses", "gap_misses", "holds"), [(2, 10, True), (3, 10, False), (2, 11, False)]
)
def test_one_of_a_hundred_may_lie_outside(ttft_misses: int, gap_misses: int, holds: bool) -> None:
    fresh = measured(
        [100] * (200 - ttft_misses) + [9_000] * ttft_misses,
        [-100] * (1_000 - gap_misses) + [-9_000] * gap_misses,
    )
    found = level(16, GOOD, fresh, limit_ns=MS)
    assert (found.holds, found.trusted) == (holds, holds)


def test_a_bound_too_large_to_be_of_use_is_no_trust() -> None:
    found = level(16, GOOD, GOOD, limit_ns=999 * US)
    assert found.holds
    assert not found.trusted


def calibration(*levels: Level, machine: dict[str, Any] | None = None) -> Calibration:
    return Calibration(
        tool_version="0",
        made_at="2026-11-30T10:00:00+00:00",
        machine=machine or environment(),
        workers=1,
        limit_ns=MS,
        levels=levels,
    )


FIT = level(16, GOOD, GOOD, limit_ns=MS)
UNFIT = level(256, GOOD, GOOD, limit_ns=1)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "tokenpace" / "calibration.json"


def test_what_is_kept_is_found_again(state: Path) -> None:
    made = calibration(FIT, UNFIT)
    assert kept.last() is None
    assert kept.keep(made) == state
    assert kept.last() == made
    assert made.trusted == FIT
    assert not list(state.parent.glob("*.tmp"))


@pytest.mark.parametrize("damage", [b"", b"{}", b"[1]", b"\xff"])
def test_a_damaged_file_is_none(state: Path, damage: bytes) -> None:
    kept.keep(calibration(FIT))
    state.write_bytes(damage)
    assert kept.last() is None


def test_another_machine_or_schema_is_none(state: Path) -> None:
    kept.keep(calibration(FIT, machine={**environment(), "cpu": "Z80"}))
    assert kept.last() is None
    kept.keep(calibration(FIT))
    state.write_bytes(
        state.read_bytes().replace(b'"schema_version": %d' % SCHEMA_VERSION, b'"schema_version": 99')
    )
    assert kept.last() is None


@pytest.mark.usefixtures("state")
def test_a_run_beyond_it_says_so() -> None:
    assert kept.with_calibration({"cpu": "x"}) == {"cpu": "x"}
    assert kept.beyond(None, in_flight=10**6, chunks_per_s=1e9) is None
    kept.keep(calibration(FIT, UNFIT))
    brief = kept.with_calibration({"cpu": "x"})["calibration"]
    assert kept.beyond(brief, in_flight=16, chunks_per_s=2_000) is None
    said = kept.beyond(brief, in_flight=17, chunks_per_s=100)
    assert said is not None
    assert "up to 17 streams and 100 chunks/s are beyond" in said
    assert "on 2026-11-30 (16 streams and 2,000 chunks/s, workers: 1)" in said
    assert kept.beyond(brief, in_flight=1, chunks_per_s=2_001) is not None


def test_a_server_that_does_not_start_is_one_clear_message() -> None:
    with pytest.raises(TimetableError, match=r"No such option.*pip install 'tokenpace\[server\]'"):
        Timetable("--no-such-option").__enter__()
