"""A whole run at each endpoint: what is judged, and what is refused before load."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support import stream_corpus
from support.replay_server import Ending, Replay, ReplayServer, head

from harness import event_loop
from harness.run import run
from harness.sla.errors import RuleError
from reports.result import Verdict
from scenarios.scenario import ENDPOINTS, scenario_from

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from harness.run import Run

GOOD = {"chat": "openai_chat", "completions": "openai_completions", "responses": "responses_text"}


def make_run(address: str, folder: Path, endpoint: str, thresholds: Mapping[str, Any]) -> Run:
    scenario = scenario_from(
        {
            "name": "endpoints",
            "endpoint": endpoint,
            "model": "m",
            "load": {"arrivals": "closed", "concurrency": 2, "requests": 60},
            "prompts": {"source": "text", "text": ["hello"]},
            "sampling": {"max_tokens": 2},
            "thresholds": thresholds,
        }
    )
    return event_loop.run(run(scenario, base_url=address, result_dir=folder, reports=()))


def answer(name: str) -> Replay:
    stream = next(each for each in stream_corpus.load() if each.name == name)
    start = head("200 OK", stream.data["content_type"], length=len(stream.wire))
    return Replay(start, [(0, stream.wire)], Ending.KEEP)


@pytest.mark.parametrize("name", GOOD)
def test_a_run_of_streams(replay_server: ReplayServer, tmp_path: Path, name: str) -> None:
    replay_server.play(answer(GOOD[name]))
    done = make_run(replay_server.url, tmp_path / "r", name, {"ttft": ["p50 < 10s"]})
    assert (done.result.outcomes, done.result.verdict) == ({"ok": 60}, Verdict.PASS)
    assert {(each.detail, each.output_tokens) for each in done.records} == {("", 2)}


def test_A5_05_a_run_of_embeddings(replay_server: ReplayServer, tmp_path: Path) -> None:
    """One reply each: e2e is judged; what needs tokens is null with a reason."""
    replay_server.play(answer("embeddings"))
    done = make_run(replay_server.url, tmp_path / "r", "embeddings", {"e2e": ["p50 < 10s"]})
    assert (done.result.outcomes, done.result.verdict) == ({"ok": 60}, Verdict.PASS)
    assert {(each.prompt_tokens, each.output_tokens, each.streamed) for each in done.records} == {
        (8, None, False)
    }
    reasons = {
        each["name"]: each["reason"]
        for each in json.loads(done.folder.result_path.read_text())["metrics"]
        if not each["n"]
    }
    assert reasons["ttft"] == "the answer came in one piece, not as a stream"
    assert "e2e" not in reasons
    request = replay_server.received[-1]
    assert json.loads(request.body) == {"model": "m", "input": "hello"}
    assert b"application/json" in request.head.lower().split(b"accept: ")[1].split(b"\r\n")[0]


@pytest.mark.parametrize("metric", ["ttft", "ttfa", "itl", "tpot", "chunk_gap", "stall_max"])
def test_A5_05_objectives_on_streams_are_refused_before_load(
    replay_server: ReplayServer, tmp_path: Path, metric: str
) -> None:
    with pytest.raises(RuleError, match=metric):
        make_run(replay_server.url, tmp_path / "r", "embeddings", {metric: ["p95 < 1s"]})
    assert replay_server.received == []


def test_every_endpoint_has_its_run() -> None:
    assert {*GOOD, "embeddings"} == set(ENDPOINTS)
