"""Start, stop and death of a real server with its engine in a process of its own."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx
import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TINY = ("--model", "tiny-random", "--num-gpu-blocks-override", "512")
LONG: dict[str, Any] = {"prompt": "x", "ignore_eos": True, "stream": True}


def read_stream(base_url: str, max_tokens: int, begun: list[float] | None = None) -> str:
    """All of a stream; notes when its first bytes came."""
    text = ""
    with httpx.stream(
        "POST", f"{base_url}/v1/completions", json={**LONG, "max_tokens": max_tokens}, timeout=60
    ) as reply:
        for piece in reply.iter_text():
            if begun is not None and not text:
                begun.append(time.monotonic())
            text += piece
    return text


def are_gone(processes: list[psutil.Process], timeout_s: float = 10) -> bool:
    """Whether all have ended, at the latest after ``timeout_s``."""
    gone, alive = psutil.wait_procs(processes, timeout_s)
    del gone
    return all(process.status() == psutil.STATUS_ZOMBIE for process in alive)


def wait_for(condition: Callable[[], bool], timeout_s: float = 20) -> None:
    """Poll until it holds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_C7_08_an_idle_server_says_what_runs_where_and_leaves_on_ctrl_c(
    start_server: Callable[..., Any],
) -> None:
    server = start_server(*TINY, "--dtype", "float32", "--served-model-name", "small,tiny")
    children = server.children()
    for fact in (
        "small, tiny",
        "float32 on cpu",
        "tokens at most",
        "KV cache",
        "512 blocks",
        server.base_url,
    ):
        assert fact in server.log
    cards = httpx.get(f"{server.base_url}/v1/models").json()["data"]
    assert [card["id"] for card in cards] == ["small", "tiny"]
    began = time.monotonic()
    server.signal(signal.SIGINT)
    assert server.wait() == 0
    assert time.monotonic() - began < 5
    assert are_gone(children)
    assert "Traceback" not in server.log


def test_C7_06_streams_end_whole_on_sigterm(start_server: Callable[..., Any]) -> None:
    """In-flight streams finish with [DONE], new requests get 503, the exit code is 0, no process is left."""
    server = start_server(*TINY)
    base_url, children = server.base_url, server.children()
    assert children
    begun: list[float] = []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        streams = [pool.submit(read_stream, base_url, 500, begun) for _ in range(4)]
        wait_for(lambda: len(begun) == 4)
        server.signal(signal.SIGTERM)
        wait_for(lambda: httpx.get(f"{base_url}/health", timeout=10).status_code == 503)
        refused = httpx.post(f"{base_url}/v1/completions", json={"prompt": "x"})
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == 503
        for stream in streams:
            text = stream.result(60)
            assert text.endswith("data: [DONE]\n\n")
            assert text.count('"finish_reason":"length"') == 1
    assert server.wait() == 0
    assert are_gone(children)


def test_C7_06_what_is_not_finished_in_time_is_aborted(start_server: Callable[..., Any]) -> None:
    server = start_server(*TINY, "--shutdown-timeout", "0.3")
    base_url, children = server.base_url, server.children()
    begun: list[float] = []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        stream = pool.submit(read_stream, base_url, 4000, begun)
        wait_for(lambda: bool(begun))
        server.signal(signal.SIGTERM)
        text = stream.result(30)
    assert text.endswith("data: [DONE]\n\n")
    assert '"finish_reason":"abort"' in text
    assert server.wait() == 0
    assert are_gone(children)


def test_C7_08_a_second_signal_leaves_at_once(start_server: Callable[..., Any]) -> None:
    server = start_server(*TINY)
    children = server.children()
    begun: list[float] = []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        stream = pool.submit(read_stream, server.base_url, 4000, begun)
        wait_for(lambda: bool(begun))
        server.signal(signal.SIGINT)
        wait_for(lambda: "finishing 1 requests" in server.log)
        began = time.monotonic()
        server.signal(signal.SIGINT)
        assert server.wait() == 130
        assert time.monotonic() - began < 2
        assert isinstance(stream.exception(10), httpx.RemoteProtocolError)
    assert are_gone(children)


def test_C7_08_loading_can_be_broken_off(launch_server: Callable[..., Any]) -> None:
    server = launch_server(*TINY)
    server.wait_until(lambda: bool(server.children()))
    children = server.children()
    began = time.monotonic()
    server.signal(signal.SIGINT)
    assert server.wait() == 130
    assert time.monotonic() - began < 5
    assert are_gone(children)


def test_C7_05_a_killed_engine_turns_health_to_503(start_server: Callable[..., Any]) -> None:
    server = start_server(*TINY)
    (child,) = server.children()
    begun: list[float] = []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        stream = pool.submit(read_stream, server.base_url, 4000, begun)
        wait_for(lambda: bool(begun))
        child.kill()
        text = stream.result(20)
    assert '"code":500' in text
    assert "SIGKILL" in text
    assert text.endswith("data: [DONE]\n\n")
    assert "the engine is dead" in server.log
    assert httpx.get(f"{server.base_url}/health").status_code == 503
    assert httpx.post(f"{server.base_url}/v1/completions", json={"prompt": "x"}).status_code == 503
    server.signal(signal.SIGTERM)
    assert server.wait() == 0


def test_no_engine_is_left_when_the_server_is_killed(start_server: Callable[..., Any]) -> None:
    server = start_server(*TINY)
    children = server.children()
    server.signal(signal.SIGKILL)
    assert server.wait() == -signal.SIGKILL
    assert are_gone(children)


def test_C2_01_a_client_that_leaves_frees_everything(tiny_server: str) -> None:
    for _ in range(5):
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(
                f"{tiny_server}/v1/completions",
                json={"prompt": "x", "ignore_eos": True, "max_tokens": 4000},
                timeout=0.2,
            )
    wait_for(
        lambda: 'num_requests_running{engine="0",model_name="tiny-random"} 0.0' in metrics(tiny_server), 2
    )
    assert 'kv_cache_usage_perc{engine="0",model_name="tiny-random"} 0.0' in metrics(tiny_server)


def metrics(base_url: str) -> str:
    return httpx.get(f"{base_url}/metrics").text


def test_a_taken_port_is_told_before_the_model_is_loaded(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "reference_server", "serve", *TINY, "--port", str(taken.getsockname()[1])],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
            env={**os.environ},
            check=False,
        )
    assert done.returncode == 1
    assert "Address already in use; choose another --port" in done.stderr
    assert "Traceback" not in done.stderr
    assert time.monotonic() - began < 10


def has_ipv6_loopback() -> bool:
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return False
    return True


def test_a_thread_can_hold_the_engine_and_ipv6_stands_in_brackets(start_server: Callable[..., Any]) -> None:
    host = "::1" if has_ipv6_loopback() else "127.0.0.1"
    server = start_server(*TINY, "--engine-client", "thread", "--host", host)
    assert server.base_url.startswith("http://[::1]:" if ":" in host else "http://127.0.0.1:")
    assert not server.children()
    fields = {"prompt": "x", "max_tokens": 3}
    assert httpx.post(f"{server.base_url}/v1/completions", json=fields, timeout=30).status_code == 200
    server.signal(signal.SIGTERM)
    assert server.wait() == 0
