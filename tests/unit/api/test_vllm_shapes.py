"""Our replies beside recorded ones of vLLM: whatever is not null there is here too, and of the same type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

DATA = Path("tests/data/api")
REPLIES = json.loads((DATA / "vllm_responses.json").read_text())
PATHS = {"chat": "/v1/chat/completions", "comp": "/v1/completions", "err_": "/v1/chat/completions"}


def kind(value: object) -> str:
    return (
        "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__
    )


def missing(theirs: Any, ours: Any, path: str = "") -> list[str]:
    """Paths of what they say and we don't, or differently. Keys of free form (tokens) are not compared."""
    if theirs is None:
        return []
    if kind(theirs) != kind(ours):
        return [f"{path}: {kind(theirs)} there, {kind(ours)} here"]
    if isinstance(theirs, dict) and not path.endswith("top_logprobs[]"):
        return [
            fault for key, value in theirs.items() for fault in missing(value, ours.get(key), f"{path}.{key}")
        ]
    if isinstance(theirs, list) and theirs:
        return missing(theirs[0], ours[0] if ours else None, f"{path}[]")
    return []


def request_of(name: str) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(REPLIES[name]["request"])
    return {**fields, "model": "echo", "ignore_eos": True}


@pytest.mark.parametrize(
    "name", ["chat", "completion", "completion_logprobs", "completion_n2", "completion_token_ids"]
)
async def test_whole_answers(api: Any, name: str) -> None:
    fields = request_of(name)
    if name == "completion_token_ids":
        fields["prompt"] = [5, 6]
    ours = (await api.post(PATHS[name[:4]], **fields)).json()
    assert missing(REPLIES[name]["body"], ours) == []
    assert len(ours["choices"]) == len(REPLIES[name]["body"]["choices"])


@pytest.mark.parametrize("name", ["chat_stream_usage", "chat_stream_logprobs", "completion_stream_usage"])
async def test_streams(start_api: Any, name: str) -> None:
    """First, second, last but one and last frame of each; so slow that a frame has one token."""
    api = await start_api(engine={"step_s": 0.05})
    recorded = (DATA / f"vllm_{name}.sse").read_text().split("\n\n")
    theirs = [json.loads(frame.removeprefix("data: ")) for frame in recorded if frame.startswith("data: {")]
    fields = request_of(name)
    response = await api.post(PATHS[name[:4]], **fields)
    ours = [
        json.loads(frame.removeprefix("data: "))
        for frame in response.text.split("\n\n")
        if frame.startswith("data: {")
    ]
    for position in (0, 1, -2, -1):
        theirs[position].pop("system_fingerprint", None)  # it rides on the usage frame or the last
        assert missing(theirs[position], ours[position]) == []
        assert [set(choice.get("delta", ())) for choice in ours[position]["choices"]] == [
            set(choice.get("delta", ())) for choice in theirs[position]["choices"]
        ]


@pytest.mark.parametrize(
    "name",
    [
        "err_unknown_model",
        "err_top_p",
        "err_negative_temperature",
        "err_max_tokens_large",
        "err_empty_messages",
    ],
)
async def test_refusals_have_the_same_type_code_and_field(api: Any, name: str) -> None:
    fields = json.loads(REPLIES[name]["request"])
    if fields["model"] == "smollm2":
        fields["model"] = "echo"
    ours = await api.post(PATHS[name[:4]], **fields)
    theirs = REPLIES[name]["body"]["error"]
    assert ours.status_code == REPLIES[name]["status"]
    error = ours.json()["error"]
    assert (error["type"], error["code"]) == (theirs["type"], theirs["code"])
    assert theirs["param"] in (None, error["param"])


async def test_models_and_version(api: Any) -> None:
    for path in ("models", "version"):
        reply = await api.http.get(f"/v1/{path}" if path == "models" else f"/{path}")
        assert missing(REPLIES[path]["body"], reply.json()) == []
