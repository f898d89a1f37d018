"""Speculative decoding as clients and dashboards see it: the same answers in fewer steps."""

from __future__ import annotations

import concurrent.futures
import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.conftest import TINY, launched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import ServerProcess

CONFIG = {
    "method": "ngram",
    "num_speculative_tokens": 3,
    "prompt_lookup_min": 1,
    "prompt_lookup_max": 3,
    "adaptive": False,
}
GREEDY: dict[str, Any] = {"temperature": 0, "ignore_eos": True, "max_tokens": 60}
SEEDED: dict[str, Any] = {"temperature": 0.7, "top_k": 8, "seed": 7, "ignore_eos": True, "max_tokens": 40}
PROMPTS = ["the same the same the same", "abcabcabcabc", "x", "One, two, three, four. One, two,"]


@pytest.fixture(scope="module")
def drafting_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Of the same weights as ``tiny_server``, configured by a file."""
    folder = tmp_path_factory.mktemp("drafting-server")
    file = folder / "serve.yaml"
    file.write_text(f"speculative_config: {json.dumps(CONFIG)}\n")
    with launched(folder, (*TINY, "--config", str(file))) as server:
        server.wait_until_healthy()
        yield server


def complete(base_url: str, **fields: Any) -> dict[str, Any]:
    response = httpx.post(f"{base_url}/v1/completions", json=fields, timeout=60)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def all_at_once(base_url: str, bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers to requests that run side by side."""
    with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(lambda body: complete(base_url, **body), bodies))


def counters(base_url: str) -> dict[str, float]:
    """Of drafts and tokens, those by position with it in their name."""
    families = text_string_to_metric_families(httpx.get(f"{base_url}/metrics").text)
    return {
        sample.name.removeprefix("vllm:") + sample.labels.get("position", ""): sample.value
        for family in families
        for sample in family.samples
        if "spec_decode" in sample.name or sample.name == "vllm:generation_tokens_total"
    }


def test_answers_and_usage_are_the_same_and_the_counters_add_up(
    drafting_server: ServerProcess, tiny_server: str
) -> None:
    bodies = [{"prompt": prompt, **wish} for prompt in PROMPTS for wish in (GREEDY, SEEDED)]
    before = counters(drafting_server.base_url)
    answers = all_at_once(drafting_server.base_url, bodies)
    after = counters(drafting_server.base_url)
    expected = all_at_once(tiny_server, bodies)
    assert [a["choices"] for a in answers] == [e["choices"] for e in expected]
    assert [a["usage"]["completion_tokens"] for a in answers] == [b["max_tokens"] for b in bodies]

    gained = {name: value - before[name] for name, value in after.items()}
    accepted = gained["spec_decode_num_accepted_tokens_total"]
    by_position = [gained[f"spec_decode_num_accepted_tokens_per_pos_total{place}"] for place in range(3)]
    assert gained["generation_tokens_total"] == sum(body["max_tokens"] for body in bodies)
    assert 0 < accepted == sum(by_position) < gained["spec_decode_num_draft_tokens_total"]
    assert by_position == sorted(by_position, reverse=True)
    assert gained["spec_decode_num_drafts_total"] < gained["generation_tokens_total"] - accepted


def test_a_stream_is_cut_at_a_stop_string_within_a_draft(
    drafting_server: ServerProcess, tiny_server: str
) -> None:
    """Several tokens come in one chunk, none of them after the stop string."""
    prompt = PROMPTS[0]
    text = complete(tiny_server, prompt=prompt, **GREEDY)["choices"][0]["text"]
    for start in range(20, 40, 5):
        body = {"prompt": prompt, **GREEDY, "stop": text[start : start + 3]}
        expected = complete(tiny_server, **body)
        parts, usage = read_stream(drafting_server.base_url, body)
        assert "".join(parts) == expected["choices"][0]["text"]
        assert usage == expected["usage"]
        assert complete(drafting_server.base_url, **body)["choices"] == expected["choices"]


def read_stream(base_url: str, body: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Pieces of text, and usage."""
    body = {**body, "stream": True, "stream_options": {"include_usage": True}}
    parts: list[str] = []
    usage: dict[str, Any] = {}
    with httpx.stream("POST", f"{base_url}/v1/completions", json=body, timeout=60) as reply:
        for line in reply.iter_lines():
            if line.startswith("data: {"):
                frame = json.loads(line.removeprefix("data: "))
                parts += [choice["text"] for choice in frame["choices"]]
                usage = frame.get("usage") or usage
    return parts, usage


def test_logprobs_stand_beside_every_token(drafting_server: ServerProcess, tiny_server: str) -> None:
    body = {"prompt": PROMPTS[1], **GREEDY, "logprobs": 2}
    found, expected = (
        complete(url, **body)["choices"][0]["logprobs"] for url in (drafting_server.base_url, tiny_server)
    )
    assert found["tokens"] == expected["tokens"]
    assert found["text_offset"] == expected["text_offset"]
    assert found["token_logprobs"] == pytest.approx(expected["token_logprobs"], abs=1e-3)


def test_the_server_says_how_it_drafts(drafting_server: ServerProcess, tiny_server: str) -> None:
    words = "drafts    ngram, 3 tokens at most, whether or not they pay, after 1 to 3 that repeat"
    assert words in drafting_server.log
    assert f"speculative_config={json.dumps(CONFIG)}" in drafting_server.log
    assert not [name for name in counters(tiny_server) if "spec_decode" in name]
