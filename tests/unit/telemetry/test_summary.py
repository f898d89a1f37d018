"""Points and cross-checks, from made-up lines and records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from harness.summary.in_flight import in_flight_at
from harness.telemetry.checks import BothSides
from harness.telemetry.client_side import ClientSide
from harness.telemetry.figures import Distribution, Figures
from harness.telemetry.growth import increase
from harness.telemetry.log import Absent, Fault, Line, Reading, Source
from harness.telemetry.summary import MAX_POINTS, server_telemetry, telemetry_notes
from reports.server_telemetry import CheckVerdict, CrossCheck, ServerTelemetry
from reports.server_view import summary_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.record import Record

SECOND = 1_000_000_000
SOURCE = Source(url="http://h/metrics", dialect="vllm")


def readings(*figures: Figures) -> list[Line]:
    """One before the run, then one a second."""
    return [SOURCE, *(Reading(at_ns=i * SECOND - 1, figures=each) for i, each in enumerate(figures))]


def growing(tokens: float, ttft_s: float = 0.08, running: float = 1.0, seconds: int = 8) -> list[Line]:
    """A server that was used before and generates ``tokens`` in the run, 8 prompt tokens for each 4."""
    return readings(
        *(
            Figures(
                running=running,
                waiting=0.0,
                prompt_tokens=500 + 2 * tokens * i / seconds,
                generation_tokens=1_000 + tokens * i / seconds,
                ttft=Distribution(10 + i, 5 + ttft_s * i),
                queue_time=Distribution(10 + i, 1 + 0.02 * i),
            )
            for i in range(seconds + 1)
        )
    )


@pytest.fixture
def summarize(make_record: Callable[..., Record]) -> Callable[..., ServerTelemetry | None]:
    """The summary of 7 requests a second apart, each in flight for a second, TTFT 100 ms, 4 tokens."""

    def summary(
        lines: list[Line], *, finished: bool = True, ended_s: float = 7, **fields: Any
    ) -> ServerTelemetry | None:
        client = ClientSide()
        for i in range(7):
            client.add(make_record(i, due=1_000 * i, done_ns=(i + 1) * SECOND, **fields))
        starts = np.arange(7, dtype=np.int64) * SECOND
        both = BothSides(client, starts, starts + SECOND, ended_ns=round(ended_s * SECOND), readings=())
        return server_telemetry(lines, both, finished=finished)

    return summary


def by_name(server: ServerTelemetry | None) -> dict[str, CrossCheck]:
    assert server is not None
    return {check.name: check for check in server.checks}


def test_two_sides_that_agree(summarize: Callable[..., ServerTelemetry | None]) -> None:
    lines = growing(28)
    server = summarize(lines)
    checks = by_name(server)
    assert list(checks) == [
        "output_tokens",
        "prompt_tokens",
        "ttft",
        "queue_time",
        "in_flight",
        "littles_law",
    ]
    assert {check.verdict for check in checks.values()} == {CheckVerdict.OK}
    assert (checks["output_tokens"].client, checks["output_tokens"].server) == (28, 28)
    assert checks["output_tokens"].ratio == 1
    assert (checks["prompt_tokens"].client, checks["prompt_tokens"].server) == (56, 56)
    assert checks["ttft"].client == 100e6
    assert checks["ttft"].server == pytest.approx(80e6)
    assert checks["ttft"].message.startswith("mean TTFT is 100 ms at the client and 80")
    assert checks["queue_time"].ratio == pytest.approx(0.2)
    assert "20.0 % of the client's mean TTFT" in checks["queue_time"].message
    assert checks["in_flight"].client == checks["in_flight"].server == 1
    assert checks["littles_law"].client == pytest.approx(1)
    assert list(telemetry_notes(lines, server)) == []


def test_other_clients_show(summarize: Callable[..., ServerTelemetry | None]) -> None:
    """More tokens, more requests, and a TTFT that our requests can't have had: remarks, no more."""
    lines = growing(90, ttft_s=0.4, running=5.0)
    server = summarize(lines)
    checks = by_name(server)
    differ = [name for name, check in checks.items() if check.verdict is CheckVerdict.DIFFERS]
    assert differ == ["output_tokens", "prompt_tokens", "ttft", "in_flight", "littles_law"]
    assert all("others may be using the server" in checks[name].message for name in differ)
    notes = list(telemetry_notes(lines, server))
    assert len(notes) == len(differ)
    assert notes[0].startswith("client and server differ in output_tokens: the client received 28 tokens")


def test_another_server_behind_the_address_shows(summarize: Callable[..., ServerTelemetry | None]) -> None:
    check = by_name(summarize(growing(14)))["output_tokens"]
    assert check.verdict is CheckVerdict.DIFFERS
    assert "more than one server may stand behind the address" in check.message


def test_unfinished_requests_are_named(summarize: Callable[..., ServerTelemetry | None]) -> None:
    check = by_name(summarize(growing(40), outcome="cut"))["output_tokens"]
    assert check.client == 28
    assert "7 requests failed or were cut" in check.message


@pytest.mark.parametrize(
    ("fields", "absent"),
    [
        ({"output_tokens": None, "token_source": None}, {"output_tokens"}),
        ({"prompt_tokens": None}, {"prompt_tokens"}),
        ({"chunk_ns": [], "streamed": False}, {"ttft", "queue_time"}),
    ],
)
def test_what_the_client_does_not_know_is_not_compared(
    summarize: Callable[..., ServerTelemetry | None], fields: dict[str, Any], absent: set[str]
) -> None:
    everything = set(by_name(summarize(growing(28))))
    assert everything - set(by_name(summarize(growing(28), **fields))) == absent


def test_a_killed_run_compares_no_totals(summarize: Callable[..., ServerTelemetry | None]) -> None:
    server = summarize(growing(28), finished=False)
    assert set(by_name(server)) == {"in_flight", "littles_law"}
    assert server is not None
    assert "not seen both before and after the run" in server.notes[0]


@pytest.mark.parametrize("lost", [slice(1, 2), slice(8, 10)])
def test_totals_need_the_looks_before_and_after(
    summarize: Callable[..., ServerTelemetry | None], lost: slice
) -> None:
    lines = growing(28)
    lines[lost] = [Fault(at_ns=3, message="http://h/metrics answers 503")]
    server = summarize(lines)
    assert "output_tokens" not in by_name(server)
    assert any("1 of" in note and "answers 503" in note for note in telemetry_notes(lines, server))


def test_a_short_run_compares_no_requests_in_flight(
    summarize: Callable[..., ServerTelemetry | None],
) -> None:
    lines = growing(28)
    del lines[3:8]
    server = summarize(lines)
    assert "in_flight" not in by_name(server)
    assert server is not None
    assert "fewer than 5 looks" in server.notes[0]


def test_without_a_word_from_the_server(summarize: Callable[..., ServerTelemetry | None]) -> None:
    assert summarize([]) is None
    lines: list[Line] = [Absent(message="http://h/metrics answers 404")]
    assert summarize(lines) is None
    assert list(telemetry_notes(lines, None)) == ["no figures of the server: http://h/metrics answers 404"]


def test_a_server_with_a_single_gauge(summarize: Callable[..., ServerTelemetry | None]) -> None:
    server = summarize(readings(*[Figures(running=1.0)] * 9))
    assert set(by_name(server)) == {"in_flight", "littles_law"}
    assert server is not None
    assert server.prefix_cache_hit_rate is None
    assert server.points[0].generation_tokens is None


def test_what_is_in_the_server_before_and_after_a_run_is_no_peak_of_it(
    summarize: Callable[..., ServerTelemetry | None],
) -> None:
    """A short run, looked at before and after: all was idle then."""
    idle = Figures(running=0.0, waiting=0.0, kv_usage=0.0, generation_tokens=5.0)
    server = summarize(readings(idle, idle), ended_s=0.6)
    assert server is not None
    assert server.num_looks == 0
    assert [(p.running, p.waiting, p.kv_usage) for p in server.points] == [(None, None, None)]
    (line, *_) = summary_lines(server)
    assert line == "vllm: requests and KV cache not looked at during the run"
    seen = summarize(readings(idle, Figures(running=3.0), idle), ended_s=1.5)
    assert seen is not None
    assert seen.num_looks == 1
    assert next(summary_lines(seen)) == "vllm: running at most 3"


def test_points_keep_peaks_and_counts_begin_with_the_first_look(
    summarize: Callable[..., ServerTelemetry | None],
) -> None:
    seen = [Figures(running=0.0, generation_tokens=100.0 + i) for i in range(3 * MAX_POINTS + 2)]
    seen[500] = Figures(running=9.0, kv_usage=0.7)
    server = summarize(readings(*seen), ended_s=len(seen))
    assert server is not None
    assert len(server.points) <= MAX_POINTS
    assert max(point.running or 0 for point in server.points) == 9
    assert [point.kv_usage for point in server.points if point.kv_usage is not None] == [0.7]
    assert server.points[-1].generation_tokens == 3 * MAX_POINTS + 1
    assert server.points[-1].at_s == pytest.approx(3 * MAX_POINTS + 1)


def test_figures_over_the_run(summarize: Callable[..., ServerTelemetry | None]) -> None:
    before = Figures(preemptions=4.0, prefix_cache_queries=100.0, prefix_cache_hits=100.0)
    after_ = Figures(preemptions=6.0, prefix_cache_queries=300.0, prefix_cache_hits=150.0)
    server = summarize(readings(before, after_))
    assert server is not None
    assert server.preemptions == 2
    assert server.prefix_cache_hit_rate == 0.25
    assert server.ttft_mean is None


@pytest.mark.parametrize(
    ("values", "grown"), [([], 0), ([5], 0), ([5, 5], 0), ([5, 8, 9], 4), ([5, 8, 2, 3], 6), ([7, 0, 0], 0)]
)
def test_a_counter_that_begins_again(values: list[float], grown: float) -> None:
    """A server that was restarted counts from zero."""
    assert increase(values) == grown


def test_in_flight_at_an_instant() -> None:
    sent, done = np.array([10, 0, 5]), np.array([20, 10, 5])
    assert in_flight_at(sent, done, np.array([-1, 0, 5, 9, 10, 19, 20])).tolist() == [0, 1, 1, 1, 1, 1, 0]
