"""The thread that asks, against a server that plays pages."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest
from support.replay_server import Ending, Replay, ReplayServer, whole

from harness.target import Target
from harness.telemetry import page as pages
from harness.telemetry import scraper
from harness.telemetry.figures import Figures
from harness.telemetry.log import Absent, Fault, Line, Reading, Source, Unreadable, read_telemetry
from harness.telemetry.scraper import Scraper
from harness.telemetry.summary import telemetry_notes

if TYPE_CHECKING:
    from pathlib import Path

NOT_FOUND = whole(b"no", "404 Not Found")


def running(count: int) -> Replay:
    return whole(f'vllm:num_requests_running{{engine="0"}} {count}\n'.encode())


async def scraped(server: ReplayServer, path: Path, seconds: float = 0.25) -> tuple[Line, ...]:
    """What a run of that length leaves."""
    begun_ns = 0
    watcher = Scraper(Target.parse(server.url), path, lambda: begun_ns, interval_s=0.05)
    async with watcher.watching():
        begun_ns = time.monotonic_ns()
        await asyncio.sleep(seconds)
    return read_telemetry(path)


async def test_before_during_and_after(replay_server: ReplayServer, tmp_path: Path) -> None:
    replay_server.play(running(0), running(1), running(2))
    source, *readings = await scraped(replay_server, tmp_path / "t.jsonl")
    assert source == Source(url=f"{replay_server.url}/metrics", dialect="vllm")
    assert all(isinstance(line, Reading) for line in readings)
    found = [line for line in readings if isinstance(line, Reading)]
    assert [line.figures for line in found[:3]] == [Figures(running=count) for count in (0.0, 1.0, 2.0)]
    assert found[0].at_ns < 0 < found[1].at_ns
    assert found[-1].at_ns > 0.25e9
    times = [line.at_ns for line in found]
    assert times == sorted(times)
    assert replay_server.num_connections == 1


async def test_a_server_without_a_page_is_asked_no_more(replay_server: ReplayServer, tmp_path: Path) -> None:
    replay_server.play(NOT_FOUND)
    lines = await scraped(replay_server, tmp_path / "t.jsonl")
    assert lines == (Absent(message=f"{replay_server.url}/metrics answers 404"),)
    assert len(replay_server.received) == 2


@pytest.mark.parametrize("body", [b"<html><body>hello</body></html>", b"up 1\n", b"", b"\xff\x00"])
async def test_a_page_of_something_else(replay_server: ReplayServer, tmp_path: Path, body: bytes) -> None:
    replay_server.play(whole(body))
    (line,) = await scraped(replay_server, tmp_path / "t.jsonl")
    assert isinstance(line, Absent)
    assert "has none of the metrics of llamacpp, sglang, tgi, trtllm, vllm" in line.message


@pytest.mark.parametrize(
    "first",
    [whole(b""), whole(b"vllm:num_requests_running NaN\n"), whole(b"<p>starting"), whole(b"", "503 Wait")],
    ids=["empty", "nan", "html", "503"],
)
async def test_a_page_that_comes_later_is_read(
    replay_server: ReplayServer, tmp_path: Path, first: Replay
) -> None:
    """The two pages that may hold metrics are asked twice in vain; the load doesn't wait."""
    replay_server.play(*[first] * 4, running(1))
    begun_s = time.monotonic()
    source, *readings = await scraped(replay_server, tmp_path / "t.jsonl", seconds=0.4)
    assert isinstance(source, Source)
    assert [line.at_ns > 0 for line in readings if isinstance(line, Reading)] == [True] * len(readings)
    assert len(readings) > 2
    assert time.monotonic() - begun_s < 5


async def test_a_page_that_never_comes_is_asked_for_a_few_times(
    replay_server: ReplayServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scraper, "_MAX_MORE_ASKS", 3)
    replay_server.play(whole(b"up 1\n"))
    (line,) = await scraped(replay_server, tmp_path / "t.jsonl", seconds=0.8)
    assert isinstance(line, Absent)
    assert "has none of the metrics" in line.message
    assert len(replay_server.received) == 2 * (1 + 3)


async def test_a_page_elsewhere_is_found(replay_server: ReplayServer, tmp_path: Path) -> None:
    """``trtllm-serve`` shows JSON under the usual path."""
    replay_server.play(whole(b"[]"), whole(b"trtllm_num_requests_running 3\n"))
    source, *_ = await scraped(replay_server, tmp_path / "t.jsonl")
    assert source == Source(url=f"{replay_server.url}/prometheus/metrics", dialect="trtllm")


async def test_faults_in_between_are_written_down(replay_server: ReplayServer, tmp_path: Path) -> None:
    html = whole(b"<html>", "200 OK", "text/html")
    replay_server.play(running(0), whole(b"", "503 Service Unavailable"), html, running(2))
    _, first, unavailable, strange, last, *_ = await scraped(replay_server, tmp_path / "t.jsonl")
    assert isinstance(first, Reading)
    assert isinstance(unavailable, Fault)
    assert unavailable.message == f"{replay_server.url}/metrics answers 503"
    assert unavailable.at_ns > 0
    assert isinstance(strange, Fault)
    assert isinstance(last, Reading)


async def test_a_server_that_hangs_delays_the_run_by_little(
    replay_server: ReplayServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "STEP_TIMEOUT_S", 0.2)
    replay_server.play(Replay(b"", ending=Ending.STALL))
    begun_s = time.monotonic()
    (line,) = await scraped(replay_server, tmp_path / "t.jsonl", seconds=0)
    assert line == Absent(message=f"{replay_server.url}/metrics doesn't answer in time")
    assert time.monotonic() - begun_s < 5
    assert len(replay_server.received) == 1


async def test_a_disk_that_takes_nothing_ends_it(replay_server: ReplayServer, tmp_path: Path) -> None:
    """Quietly: the journal on the same disk tells the user."""
    replay_server.play(running(0))
    assert await scraped(replay_server, tmp_path / "absent" / "t.jsonl") == ()


def test_an_unfinished_line_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"kind":"absent","message":"x"}\n{"kind":"rea')
    assert read_telemetry(path) == (Absent(message="x"),)


@pytest.mark.parametrize("bad", [b'{"kind":"absent"}', b"{", b"\xff\xfe", b"", b"[" * 100_000])
def test_a_bad_line_is_passed_over_with_a_note(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "t.jsonl"
    good = b'{"kind":"fault","at_ns":%d,"message":"x"}\n'
    path.write_bytes(good % 1 + bad + b"\n" + good % 2)
    first, damaged, last = read_telemetry(path)
    assert (first, last) == (Fault(at_ns=1, message="x"), Fault(at_ns=2, message="x"))
    assert isinstance(damaged, Unreadable)
    assert damaged.message.startswith("t.jsonl: line 2 is none of telemetry")
    note = next(telemetry_notes((first, damaged, last), None))
    assert note.startswith(f"passed over: {damaged.message}")
