"""Log-probabilities of prompts and their echo, from a real model on a real socket."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import load_engine
from reference_server.quality.forced_model import ForcedModel
from reference_server.text.byte_tokenizer import BOS, FIRST_BYTE

if TYPE_CHECKING:
    import torch

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATH = "/v1/completions"
CONFIG = EngineConfig(
    model="tiny-random", dtype="float32", device="cpu", cpu_threads=1, max_num_batched_tokens=16
)
TEXT = "The h\u20acn lays an egg."
IDS = [BOS, *(FIRST_BYTE + byte for byte in TEXT.encode())]
GREEDY: dict[str, Any] = {"temperature": 0, "ignore_eos": True}


@pytest.fixture(scope="module")
def echo() -> SimpleNamespace:
    """In place of the echo engine: a model, whose prompts take several steps."""
    return SimpleNamespace(EchoEngine=lambda: load_engine(CONFIG))


@pytest.fixture(scope="module")
def scores() -> torch.Tensor:
    """Log-probabilities ``[tokens, vocab_size]`` after each token of the text."""
    return ForcedModel(CONFIG).logits(IDS, 0).log_softmax(dim=-1)


def name(token_id: int) -> str:
    special = {0: "<bos>", 1: "<eos>"}
    if token_id in special:
        return special[token_id]
    return bytes([token_id - FIRST_BYTE]).decode(errors="replace") if token_id < 258 else ""


async def test_they_have_vllm_s_form_and_the_model_s_values(api: Any, scores: torch.Tensor) -> None:
    answer = await api.complete(TEXT, prompt_logprobs=2, max_tokens=1, **GREEDY)
    (choice,) = answer["choices"]
    assert "prompt_logprobs" not in answer
    first, *later = choice["prompt_logprobs"]
    assert first is None
    assert len(later) == len(IDS) - 1
    for row, token_id, entry in zip(scores, IDS[1:], later, strict=False):
        assert next(iter(entry)) == str(token_id)
        assert len(entry) in (2, 3)
        for key, found in entry.items():
            assert found["logprob"] == pytest.approx(row[int(key)].item(), abs=2e-5)
            assert found["rank"] == int((row >= row[int(key)]).sum())
            assert found["decoded_token"] == name(int(key))
        assert {1, 2} <= {found["rank"] for found in entry.values()}
    assert choice["logprobs"] is None
    assert answer["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}


async def test_chat_has_them_beside_its_choices(api: Any) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "prompt_logprobs": 0, "max_tokens": 1, "n": 2}
    response = await api.post("/v1/chat/completions", **body)
    answer = response.json()
    tokens = [next(iter(entry.values()))["decoded_token"] for entry in answer["prompt_logprobs"][1:]]
    assert "".join(tokens) == "ser: Hi\nassistant: "
    assert all("prompt_logprobs" not in choice for choice in answer["choices"])


@pytest.mark.parametrize("path", [PATH, "/v1/chat/completions"])
@pytest.mark.parametrize("count", [0, 1])
async def test_no_stream_has_them(api: Any, path: str, count: int) -> None:
    prompt = {"prompt": "x"} if path == PATH else {"messages": [{"role": "user", "content": "x"}]}
    response = await api.post(path, stream=True, prompt_logprobs=count, **prompt)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "prompt_logprobs"


async def test_an_echo_is_the_prompt_in_front_of_the_same_output(api: Any) -> None:
    plain = await api.complete(TEXT, max_tokens=6, logprobs=2, **GREEDY)
    echoed = await api.complete(TEXT, max_tokens=6, logprobs=2, echo=True, **GREEDY)
    before, after = plain["choices"][0], echoed["choices"][0]
    assert after["text"] == TEXT + before["text"]
    assert echoed["usage"] == plain["usage"] | {"prompt_tokens_details": {"cached_tokens": 0}}
    for key in ("tokens", "token_logprobs", "top_logprobs"):
        assert len(after["logprobs"][key]) == len(IDS) + 6
    assert after["logprobs"]["tokens"][: len(IDS)] == [name(token_id) for token_id in IDS]
    assert after["logprobs"]["tokens"][len(IDS) :] == before["logprobs"]["tokens"]
    tail = after["logprobs"]["token_logprobs"][len(IDS) :]
    assert tail == pytest.approx(before["logprobs"]["token_logprobs"], abs=2e-5)
    assert (after["logprobs"]["token_logprobs"][0], after["logprobs"]["top_logprobs"][0]) == (None, None)
    assert all(isinstance(value, float) for value in after["logprobs"]["token_logprobs"][1:])
    assert len(after["prompt_logprobs"]) == len(IDS)


async def test_offsets_of_an_echo_point_into_the_text_of_its_tokens(api: Any) -> None:
    ids = IDS[1:]
    answer = await api.complete(ids, max_tokens=2, logprobs=0, echo=True, **GREEDY)
    (choice,) = answer["choices"]
    assert choice["text"].startswith(TEXT)
    offsets = choice["logprobs"]["text_offset"]
    characters = [TEXT[offset] for offset in offsets[: len(ids)]]
    assert characters == list("The h\u20ac\u20ac\u20acn lays an egg.")
    assert offsets[len(ids)] == len(TEXT)


async def test_an_echo_without_logprobs_is_text_alone(api: Any) -> None:
    answer = await api.complete([TEXT, "b"], max_tokens=1, n=2, echo=True, **GREEDY)
    starts = [TEXT, TEXT, "b", "b"]
    for start, choice in zip(starts, answer["choices"], strict=True):
        assert choice["text"].startswith(start)
        assert (choice["logprobs"], choice["prompt_logprobs"]) == (None, None)


async def test_a_truncated_prompt_is_echoed_as_what_is_left_of_it(api: Any) -> None:
    answer = await api.complete(TEXT, max_tokens=0, echo=True, truncate_prompt_tokens=4)
    assert answer["choices"][0]["text"] == TEXT[-4:]


@pytest.mark.parametrize("logprobs", [None, 0, 1])
async def test_C5_03_max_tokens_0_with_echo_scores_the_prompt_and_adds_nothing(
    api: Any, scores: torch.Tensor, logprobs: int | None
) -> None:
    answer = await api.complete(TEXT, max_tokens=0, echo=True, logprobs=logprobs)
    (choice,) = answer["choices"]
    assert (choice["text"], choice["finish_reason"]) == (TEXT, "length")
    assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) == (len(IDS), 0)
    if logprobs is None:
        assert choice["logprobs"] is None
        return
    expected = [scores[place, token_id].item() for place, token_id in enumerate(IDS[1:])]
    assert choice["logprobs"]["token_logprobs"][1:] == pytest.approx(expected, abs=2e-5)
    await api.complete("x", max_tokens=1)


async def test_C5_03_an_echo_may_be_streamed(api: Any) -> None:
    """With 0 and with some new tokens: the prompt and its log-probabilities are in the first chunk."""
    for max_tokens in (0, 3):
        chunks = await api.stream(PATH, prompt=TEXT, max_tokens=max_tokens, echo=True, logprobs=1, **GREEDY)
        choices = [chunk["choices"][0] for chunk in chunks]
        whole = await api.complete(TEXT, max_tokens=max_tokens, echo=True, logprobs=1, **GREEDY)
        (expected,) = whole["choices"]
        assert choices[0]["text"].startswith(TEXT)
        assert "".join(choice["text"] for choice in choices) == expected["text"]
        tokens = [token for choice in choices for token in choice["logprobs"]["tokens"]]
        assert tokens == expected["logprobs"]["tokens"]
        assert len(tokens) == len(IDS) + max_tokens
        assert choices[-1]["finish_reason"] == "length"


async def test_C5_03_max_tokens_0_without_echo_is_refused(api: Any) -> None:
    response = await api.post(PATH, prompt=TEXT, max_tokens=0)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "max_tokens"


async def test_what_was_only_read_counts_as_finished(api: Any) -> None:
    async def num_finished() -> float:
        lines = (await api.http.get("/metrics")).text.splitlines()
        (line,) = [line for line in lines if "request_success_total" in line and '"length"' in line]
        return float(line.rsplit(" ", 1)[1])

    before = await num_finished()
    await api.complete(TEXT, max_tokens=0, echo=True)
    assert await num_finished() == before + 1
