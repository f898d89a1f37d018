"""Warm-up by count and by MSER-5."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from harness.steady_state import mser5
from harness.warm_up import WarmUp
from harness.window import Window

if TYPE_CHECKING:
    from tests.conftest import MakeRecord

MS = 1_000_000


def by_definition(values: list[float]) -> int | None:
    """The formula, term by term: the oracle."""
    batches = np.array(values[: len(values) // 5 * 5]).reshape(-1, 5).mean(axis=1)
    num = len(batches)
    candidates = [d for d in range(num) if d < num / 2]
    ratios = [((batches[d:] - batches[d:].mean()) ** 2).sum() / (num - d) ** 2 for d in candidates]
    best = candidates[int(np.argmin(ratios))]
    return None if best == candidates[-1] else 5 * best


def ramp(seed: int = 0, length: int = 200, num: int = 2_000) -> list[float]:
    rng = np.random.default_rng(seed)
    start = np.where(np.arange(num) < length, 5.0 * (1 - np.arange(num) / max(1, length)), 0.0)
    return list(10 + start + rng.normal(0, 0.5, num))


def test_a_ramp_of_200_samples_is_cut_near_its_end() -> None:
    """The last steps of a ramp are smaller than the noise, so the cut lies a little before 200."""
    assert 150 <= (mser5(ramp()) or 0) <= 200


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("offset", [0, 1e9])
def test_equals_the_definition(seed: int, offset: float) -> None:
    values = [offset + each for each in ramp(seed, length=100 * seed, num=53 + 200 * seed)]
    assert mser5(values) == by_definition(values)


@pytest.mark.parametrize(
    ("values", "cut"),
    [([7.0] * 100, 0), ([7.0] * 49, None), ([], None), ([float(i) for i in range(1_000)], None)],
)
def test_edges(values: list[float], cut: int | None) -> None:
    """Constant from the start, too few, none, never steady."""
    assert mser5(values) == cut


def test_auto_takes_the_requests_in_due_order(make_record: MakeRecord) -> None:
    values = ramp()
    records = [make_record(i, due=10 * i, chunks=(value, value + 5)) for i, value in enumerate(values)]
    warm_up = WarmUp(Window(auto_warmup=True))
    for record in reversed(records):
        warm_up.add(record)
    cut = mser5(values)
    assert cut
    assert warm_up.window().start_ns == 10 * cut * MS
    assert warm_up.cause is None
    assert f"the first {cut} of 2000" in (warm_up.note or "")


def test_no_steady_state_is_a_cause(make_record: MakeRecord) -> None:
    warm_up = WarmUp(Window(auto_warmup=True))
    for i in range(400):
        warm_up.add(make_record(i, due=10 * i, chunks=(10 + i, 500 + i)))
    assert warm_up.window() == Window(auto_warmup=True)
    assert (warm_up.cause or "").startswith("no steady state")


def test_answers_in_one_piece_are_judged_by_their_whole_time(make_record: MakeRecord) -> None:
    warm_up = WarmUp(Window(auto_warmup=True))
    for i in range(100):
        done_ns = round((10 * i + (500 if i < 20 else 50)) * MS)
        warm_up.add(make_record(i, due=10 * i, chunks=(), streamed=False, output_tokens=3, done_ns=done_ns))
    assert warm_up.window().start_ns == 200 * MS


def test_by_count(make_record: MakeRecord) -> None:
    warm_up = WarmUp(Window(warmup_requests=20))
    for i in reversed(range(50)):
        warm_up.add(make_record(i, due=3 * i))
    assert warm_up.window().start_ns == 60 * MS


def test_nothing_is_measured_where_the_run_ended_in_warm_up(make_record: MakeRecord) -> None:
    warm_up = WarmUp(Window(warmup_requests=20))
    records = [make_record(i, due=3 * i) for i in range(5)]
    for record in records:
        warm_up.add(record)
    window = warm_up.window()
    assert not any(window.measures(record) for record in records)


def test_by_count_goes_by_due_times_where_conversations_number_their_turns(make_record: MakeRecord) -> None:
    """Ten users begin at once and have 5 turns each: the first 15 requests are not those of three users."""
    warm_up = WarmUp(Window(warmup_requests=15))
    for user in range(10):
        for turn in range(5):
            warm_up.add(make_record(5 * user + turn, due=100 * turn + user, conversation=user, turn=turn + 1))
    assert warm_up.window().start_ns == 105 * MS
