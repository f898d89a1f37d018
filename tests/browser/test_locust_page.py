"""Locust's web UI and our page beside it in a real browser, against a server that attacks."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from support.replay_server import CHUNKED_HEAD, Replay, ReplayServer, after, chunked, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .conftest import Browser

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
ATTACK = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
SCENARIO = """
schema: 1
name: attacked
load: {arrivals: constant, rate: 20, duration: 120s}
prompts: {source: text, text: "say it"}
sampling: {max_tokens: 4}
thresholds:
  ttft: ["p50 < 5s"]
"""
RUNS = 'vllm:num_requests_running{{model_name="m"}} {}\nvllm:generation_tokens_total{{model_name="m"}} {}\n'


def _answer() -> Replay:
    deltas = [{"content": text} for text in (ATTACK, " and", " more")]
    events: list[Any] = [
        {"id": "1", "model": "m", "choices": [{"index": 0, "delta": delta}]} for delta in deltas
    ]
    events[-1]["choices"][0]["finish_reason"] = "stop"
    data = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    return Replay(CHUNKED_HEAD, after(0.02, chunked([*data, b"data: [DONE]\n\n"])))


def _replies(server: ReplayServer) -> Callable[[int], Replay]:
    """Models, metrics, and answers, every fourth of which is an error; each says something in HTML."""
    error = whole(json.dumps({"error": {"message": ATTACK}}).encode(), "500 Internal Server Error")

    def script(number: int) -> Replay:
        line = server.received[number].head.split(b"\r\n")[0]
        if b"/models" in line:
            return whole(json.dumps({"object": "list", "data": [{"id": f"m{ATTACK}"}]}).encode())
        if b"/metrics" in line:
            return whole(RUNS.format(number % 7, number * 3).encode(), "200 OK", "text/plain")
        return error if number % 4 == 0 else _answer()

    return script


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the web UI of a Locust is, below a path of its own."""
    folder = tmp_path_factory.mktemp("locust")
    (folder / "attacked.yaml").write_text(SCENARIO)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "locust", "-f", str(ROOT / "scenarios" / "locustfile.py")]
    options = ["--web-host", "127.0.0.1", "--web-port", str(port), "--web-base-path", "/load", "--no-summary"]
    with ReplayServer() as server, (folder / "log").open("w") as log:
        server.play_by(_replies(server))
        process = subprocess.Popen(
            [*command, *options, "--host", server.url], cwd=folder, stdout=log, stderr=log
        )
        try:
            yield _answering(process, f"http://127.0.0.1:{port}/load/", folder / "log")
        finally:
            process.terminate()
            process.wait(30)


def _answering(process: subprocess.Popen[bytes], address: str, log: Path) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            httpx.get(address, trust_env=False)
        except httpx.TransportError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        else:
            return address


def _until(browser: Browser, script: str, *args: Any) -> Any:
    """The value of a script once it is something."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := browser.run(script, *args)):
        assert time.monotonic() < deadline, (script, browser.run("return document.body.innerText"))
        time.sleep(0.1)
    return found


def _type(browser: Browser, field: str, text: str) -> None:
    """As React notices it."""
    browser.run(
        "const [name, text] = arguments, field = document.querySelector(`[name=${name}]`);"
        "Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, text);"
        "field.dispatchEvent(new Event('input', {bubbles: true}));",
        field,
        text,
    )


CLICK = (
    "const [kind, text] = arguments;"
    "const found = [...document.querySelectorAll(kind)].find((each) => each.textContent.trim() === text);"
    "if (found) found.click();"
    "return Boolean(found);"
)
ROWS = "return /response[^]*p99|p99[^]*response/.test(document.body.innerText)"
PATHS = " [...document.querySelectorAll('#charts .mark')].map((mark) => mark.getAttribute('d')).join()"
MOVED = f"const now = {PATHS}; return now && now !== arguments[0]"
STATE = "return document.getElementById('verdict').className"


def test_a_run_from_the_form_to_the_downloads(browser: Browser, address: str) -> None:
    """Its tabs fill, its charts move, it is stopped. What the server says does nothing."""
    browser.resize(1280, 900)
    browser.emulate(prefers_color_scheme="light")
    browser.visit(address)
    _until(browser, "return document.querySelector('[name=scenario]') !== null")
    assert browser.run("return document.querySelector('[name=apiKey]').type") == "password"
    _type(browser, "scenario", "attacked.yaml")
    _until(browser, CLICK, "button", "Start")

    _until(browser, CLICK, "[role=tab]", "TTFT")
    _until(browser, ROWS)

    browser.complaints()  # of Locust's own page
    browser.visit(address + "tokenpace/")
    first = _until(browser, f"return {PATHS}")
    _until(browser, MOVED, first)
    _until(browser, "return document.querySelectorAll('#errors tbody tr').length === 1")
    assert " running" in browser.run(STATE)
    for name in ("requests", "tokens"):
        _until(browser, "return document.getElementById(arguments[0]) !== null", f"figure-server-{name}")
    light = browser.run("return getComputedStyle(document.body).backgroundColor")
    browser.emulate(prefers_color_scheme="dark")
    assert browser.run("return getComputedStyle(document.body).backgroundColor") != light

    browser.run("fetch('../stop', {method: 'POST'})")  # Locust answers once the result has been made
    _until(browser, "return document.getElementById('word').textContent === 'INTERRUPTED'")
    objective = browser.run("return document.querySelector('#objectives tbody .key').textContent")
    assert objective == "ttft p50 < 5s"
    links = browser.run("return [...document.querySelectorAll('#files a')].map((link) => link.href)")
    assert [link.rsplit("/", 1)[1] for link in links][:2] == ["report.html", "histograms.hlog"]
    report = browser.run("return fetch(arguments[0]).then((answer) => answer.text())", links[0])
    assert report.startswith("<!doctype html>")

    said = browser.run("return document.querySelector('#samples pre:last-of-type').textContent")
    assert ATTACK in said
    assert ATTACK in browser.run("return document.querySelector('#errors .msg').textContent")
    assert browser.run("return document.querySelectorAll('main img, main script').length") == 0
    assert browser.run("return document.title") == "INTERRUPTED · tokenpace within Locust"
    assert browser.complaints() == []
