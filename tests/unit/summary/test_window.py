"""The measured window."""

from __future__ import annotations

import pytest

from harness.window import Window, window_of
from scenarios.scenario import scenario_from

S = 10**9


def _window(**load: object) -> Window:
    prompts = {"source": "text", "text": "Hi"}
    load = {"arrivals": "constant", "rate": 5, **load}
    return window_of(scenario_from({"name": "w", "load": load, "prompts": prompts}).schedule())


def test_window_of_a_duration() -> None:
    window = _window(duration="60s", warmup="10s", cooldown="5s")
    assert window == Window(start_ns=10 * S, end_ns=55 * S, fixed=True)
    assert [window.contains(at * S) for at in (9, 10, 54, 55)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("window", "ended_s", "interrupted", "expected"),
    [
        (Window(), 7, False, (0, 7)),
        (Window(end_ns=60 * S, fixed=True), 59, False, (0, 60)),
        (Window(end_ns=60 * S, fixed=True), 90, False, (0, 60)),
        (Window(end_ns=60 * S, fixed=True), 20, True, (0, 20)),
        (Window(end_ns=60 * S), 30, False, (0, 30)),
        (Window(start_ns=10 * S), 4, True, (10, 10)),
    ],
)
def test_window_closes(window: Window, ended_s: int, interrupted: bool, expected: tuple[int, int]) -> None:
    start, end = window.closed(ended_s * S, interrupted=interrupted)
    assert (start / S, end / S) == expected


def test_window_of_a_number_of_requests_ends_with_the_last_answer() -> None:
    assert _window(requests=10, duration="60s").closed(3 * S) == (0, 3 * S)
