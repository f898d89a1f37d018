"""The timetable server as a process: options, capacity, freezes, signals."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support.timetable_process import TimetableProcess

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
STREAM = b'{"prompt":"a","stream":true}'


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_it_cleanly_and_the_log_is_whole(
    tmp_path: Path, number: signal.Signals, event_loop_name: str
) -> None:
    path = tmp_path / "log.jsonl"
    with (
        TimetableProcess(
            "--event-loop", event_loop_name, "--log", str(path), "--tokens", "1000", "--gap", "10ms"
        ) as server,
        server.client() as client,
    ):
        server.chat({"tokens": 3})
        client.request("POST", "/v1/completions", STREAM)
        while b'"text"' not in client.read_some():
            pass
        assert server.end(number) == (0, "")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["outcome"] for line in lines] == ["ok", "server_stopped"]
    assert lines[1]["completion_tokens"] >= 1


def test_capacity_makes_requests_wait_in_order(event_loop_name: str) -> None:
    with TimetableProcess(
        "--event-loop",
        event_loop_name,
        "--max-num-seqs",
        "1",
        "--ttft",
        "20ms",
        "--gap",
        "0",
        "--tokens",
        "2",
    ) as server:
        clients = [server.client() for _ in range(4)]
        for client in clients:
            client.request("POST", "/v1/completions", STREAM)
            time.sleep(0.002)
        for client in clients:
            assert client.read().complete
            client.__exit__()
        lines = server.log(4)
    for before, after in itertools.pairwise(lines):
        assert after["index"] == before["index"] + 1
        assert after["start_ns"] >= before["done_ns"]
        assert after["token_ns"][0] - after["start_ns"] >= 20 * MS


def test_client_that_leaves_the_queue_or_its_slot_makes_room(event_loop_name: str) -> None:
    with TimetableProcess("--event-loop", event_loop_name, "--max-num-seqs", "1", "--ttft", "60s") as server:
        running, waiting = server.client(), server.client()
        running.request("POST", "/v1/completions", STREAM)
        time.sleep(0.05)
        waiting.request("POST", "/v1/completions", STREAM)
        time.sleep(0.05)
        assert b"num_requests_waiting" in server.get("/metrics").body
        waiting.__exit__()
        running.__exit__()
        assert [line["outcome"] for line in server.log(2)] == ["client_left", "client_left"]
        metrics = server.get("/metrics").body.decode()
        assert server.chat({"ttft": "0"}).complete
    values = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if not line.startswith("#"))
    assert all(value == "0.0" for name, value in values.items() if "num_requests" in name)


def test_freeze_holds_everything_back_and_then_lets_it_go(event_loop_name: str) -> None:
    options = ("--freeze", "50ms+300ms", "--ttft", "1ms", "--gap", "10ms", "--tokens", "30")
    with TimetableProcess("--event-loop", event_loop_name, *options) as server:
        server.chat()
        (line,) = server.log(1)
    stamps, first_ns = line["token_ns"], line["arrival_ns"]
    assert not [t for t in stamps if first_ns + 60 * MS < t < first_ns + 350 * MS]
    assert max(b - a for a, b in itertools.pairwise(stamps)) >= 280 * MS


def test_signal_ends_a_freeze(event_loop_name: str) -> None:
    with (
        TimetableProcess("--event-loop", event_loop_name, "--freeze", "0+60s") as server,
        server.client() as client,
    ):
        client.request("POST", "/v1/completions", STREAM)
        time.sleep(0.2)
        assert server.end()[0] == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--ttft", "50"], "unit"),
        (["--fault", "explode=1"], "explode"),
        (["--freeze", "10s"], "start+length"),
        (["--speculate", "4"], "--speculate"),
        (["--tokens", "many"], "tokens"),
    ],
)
def test_mistake_in_an_option_is_named_and_exits_2(options: list[str], named: str) -> None:
    command = [sys.executable, "-m", "reference_server.timetable", "--port", "0", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert named in done.stderr
    assert "Traceback" not in done.stderr


def test_taken_port_is_told_and_exits_1(timetable: TimetableProcess) -> None:
    command = [sys.executable, "-m", "reference_server.timetable", "--port", str(timetable.port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "choose another --port" in done.stderr
    assert "Traceback" not in done.stderr


def test_slow_reader_holds_nobody_up_and_is_marked(event_loop_name: str) -> None:
    """A client that does not read makes its own writes wait; another one is served meanwhile."""
    script = {"tokens": 60_000, "gap": "0", "ttft": "0"}
    body = json.dumps({"prompt": "a", "stream": True, "timetable": script}).encode()
    with TimetableProcess("--event-loop", event_loop_name) as server, server.client() as slow:
        slow.request("POST", "/v1/completions", body, "X-Request-Id: slow")
        assert server.chat({"tokens": 5}).complete
        lines = {line["request_id"]: line for line in server.log(2)}
    assert lines["slow"]["num_held_back"] > 0
    assert lines[None]["num_held_back"] == 0


def test_client_that_never_reads_is_cut_off(event_loop_name: str) -> None:
    """What one client leaves unread is bounded, and the log says why it was cut off."""
    script = {"tokens": 200_000, "gap": "0", "ttft": "0"}
    body = json.dumps({"prompt": "a", "stream": True, "timetable": script}).encode()
    with TimetableProcess("--event-loop", event_loop_name) as server, server.client() as slow:
        slow.request("POST", "/v1/completions", body)
        (line,) = server.log(1)
    assert line["outcome"] == "slow_reader"
    assert 0 < line["num_held_back"] < line["completion_tokens"] == len(line["token_ns"]) < 200_000


@needs_compiler
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_both_loops_send_the_same_bytes(path: str) -> None:
    """But for the second in which the answer was made."""
    body = {"prompt": "a", "messages": [{"role": "user", "content": "a"}], "stream": True}
    bodies = []
    for name in ("asyncio", "compiled"):
        with TimetableProcess("--event-loop", name, "--tokens", "40", "--gap", "1ms") as server:
            bodies.append(re.sub(rb'"created":\d+', b"", server.send("POST", path, body).body))
    assert bodies[0] == bodies[1]


def test_a_log_larger_than_a_client_may_leave_unread_is_given_whole(event_loop_name: str) -> None:
    options = ("--event-loop", event_loop_name, "--ttft", "0", "--gap", "0", "--tokens", "100000")
    with TimetableProcess(*options) as server:
        for _ in range(12):
            assert server.send("POST", "/v1/completions", {"prompt": "a"}).complete
        assert len(server.get("/timetable/log").body) > 1 << 24
        assert len(server.log(12)) == 12


def test_without_a_compiler_asyncio_serves_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with TimetableProcess() as server:
        assert server.chat({"tokens": 3}).complete
        _, errors = server.end()
    assert "no C compiler was found" in errors
    command = [sys.executable, "-m", "reference_server.timetable", "--port", "0", "--event-loop", "compiled"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "--event-loop asyncio" in done.stderr
