"""What every tokenizer format and every dialect of a tokenize call keeps to, whatever the folders hold."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from harness.tokenize_calls import TokenizeCall, tokenize_calls
from scenarios.tokenizers import _formats

TEXT = 'one "two"\n日本語'


def test_folders_are_found() -> None:
    assert {Path(module.__file__ or "").stem for module in _formats()} >= {"gguf", "hugging_face"}
    assert {call.path for call in tokenize_calls()} >= {"/tokenize", "/extras/tokenize/count"}


def test_format_accepts_nothing_that_is_not_there(tmp_path: Path) -> None:
    assert [module for module in _formats() if module.accepts(tmp_path / "nothing")] == []


def test_file_is_of_one_format(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.gguf").write_bytes(b"GGUF")
    for path in (tmp_path, tmp_path / "a.json", tmp_path / "b.gguf"):
        assert [module.accepts(path) for module in _formats()].count(True) == 1


@pytest.fixture(params=tokenize_calls(), ids=lambda call: type(call).__name__)
def call(request: pytest.FixtureRequest) -> TokenizeCall:
    assert isinstance(request.param, TokenizeCall)
    return request.param


def test_call_says_whose_it_is_and_where(call: TokenizeCall) -> None:
    assert call.servers
    assert call.path.startswith("/")
    assert not call.path.endswith("/")


def test_body_is_json_and_holds_the_text_as_it_is(call: TokenizeCall) -> None:
    body = json.loads(msgspec.json.encode(call.body(TEXT, "mine")))
    assert TEXT in body.values()


@pytest.mark.parametrize(
    "reply", [b"", b"{}", b"[1]", b"null", b'{"count": "many"}', b'{"tokens": []}', b"<html>"]
)
def test_reply_that_holds_no_count_is_refused(call: TokenizeCall, reply: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        call.count(reply)
