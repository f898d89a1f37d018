"""Token ids for clients that want exact lengths."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_prompt_becomes_token_ids_with_a_begin_token(api: Any) -> None:
    reply = (await api.post("/tokenize", prompt="hé", return_token_strs=True)).json()
    assert reply == {
        "count": 4,
        "max_model_len": 4096,
        "tokens": [0, 106, 197, 171],
        "token_strs": ["<bos>", "h", "\ufffd", "\ufffd"],
    }


async def test_the_begin_token_can_be_left_out(api: Any) -> None:
    reply = (await api.post("/tokenize", prompt="h", add_special_tokens=False)).json()
    assert (reply["tokens"], reply["token_strs"]) == ([106], None)


async def test_a_conversation_goes_through_the_template(api: Any) -> None:
    messages = [{"role": "user", "content": "hi"}]
    tokens = (await api.post("/tokenize", messages=messages)).json()["tokens"]
    chat = (await api.post("/v1/chat/completions", messages=messages, max_tokens=1)).json()
    assert len(tokens) == chat["usage"]["prompt_tokens"]
    assert (await api.post("/detokenize", tokens=tokens)).json() == {"prompt": "user: hi\nassistant: "}


@pytest.mark.parametrize("text", ["", "plain", "hé€😀", "x" * 10_000])
async def test_there_and_back(api: Any, text: str) -> None:
    tokens = (await api.post("/tokenize", prompt=text, add_special_tokens=False)).json()["tokens"]
    assert (await api.post("/detokenize", tokens=tokens)).json() == {"prompt": text}


async def test_C7_01_a_long_text_does_not_hold_up_the_loop(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second of tokenizing runs beside the event loop, which goes on answering."""
    import asyncio
    import time

    def slow(text: str, *, add_special_tokens: bool = True) -> list[int]:
        del text, add_special_tokens
        time.sleep(0.5)
        return [5]

    monkeypatch.setattr(api.context.tokenizer, "encode", slow)
    request = asyncio.create_task(api.post("/v1/completions", prompt="x" * 10_000, max_tokens=1))
    await asyncio.sleep(0.05)
    began = time.monotonic()
    assert (await api.http.get("/version")).status_code == 200
    assert not request.done()
    assert time.monotonic() - began < 0.4
    assert (await request).status_code == 200
