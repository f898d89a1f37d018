"""Tokenizer and template from GGUF files, Hugging Face folders, and from nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from reference_server.models.errors import CheckpointError
from reference_server.text.byte_level import BYTE_OF, name_to_bytes
from reference_server.text.errors import ChatTemplateError, TokenizerError
from reference_server.text.load import load_text, load_tokenizer
from reference_server.text.pre_tokenizers import pre_tokenizer

if TYPE_CHECKING:
    from pathlib import Path

    from reference_server.text.tokenizer import Tokenizer

GGUFMaker = Callable[..., str]
TEXT = "hello w<eos>\tß"


def names(tokenizer: Tokenizer, ids: list[int]) -> list[str]:
    return [tokenizer.token_bytes(i).decode(errors="backslashreplace") for i in ids]


def test_the_alphabet_has_a_character_for_every_byte() -> None:
    assert sorted(BYTE_OF.values()) == list(range(256))
    assert (name_to_bytes("Ġw"), name_to_bytes("Ċ"), name_to_bytes("ÃŁ")) == (b" w", b"\n", "ß".encode())


def test_gguf_and_folder_agree(gguf_file: GGUFMaker, folder: Path) -> None:
    """The same vocabulary gives the same ids, whichever file it comes from."""
    from_file, from_folder = load_tokenizer(gguf_file(pre="gpt-2")), load_tokenizer(str(folder))
    ids = from_file.encode(TEXT)
    assert from_folder.encode(TEXT) == ids
    assert names(from_file, ids) == ["hello", " w", "<eos>", "\t", "\\xc3", "\\x9f"]
    for tokenizer in (from_file, from_folder):
        assert tokenizer.decode(ids) == "hello w\tß"
        assert tokenizer.decode(ids, skip_special_tokens=False) == TEXT
        assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (261, 262)
        assert (tokenizer.is_special(262), tokenizer.is_special(0)) == (True, False)


def test_ids_outside_the_vocabulary_have_no_text(folder: Path) -> None:
    """A model's table of embeddings may be longer than its vocabulary."""
    tokenizer = load_tokenizer(str(folder))
    assert tokenizer.decode([10_000]) == ""
    assert (tokenizer.token_bytes(10_000), tokenizer.token_text(-1)) == (b"", "")


def test_begin_token_of_a_gguf_file(gguf_file: GGUFMaker) -> None:
    tokenizer = load_tokenizer(gguf_file(add_bos_token=True))
    assert tokenizer.encode("he") == [261, *tokenizer.encode("he", add_special_tokens=False)]
    assert load_tokenizer(gguf_file()).encode("he") == [256]


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("gpt-2", ["I", "'m", "Ġ2024", "Ġ", "Ġ7"]),
        ("smollm", ["I", "'m", "Ġ", "2", "0", "2", "4", "ĠĠ", "7"]),
        ("llama-bpe", ["I", "'m", "Ġ", "202", "4", "Ġ", "Ġ", "7"]),
        ("qwen2", ["I", "'m", "Ġ", "2", "0", "2", "4", "Ġ", "Ġ", "7"]),
    ],
)
def test_pre_tokenizers_cut_as_their_names_say(name: str, pieces: list[str]) -> None:
    assert [piece for piece, _ in pre_tokenizer(name).pre_tokenize_str("I'm 2024  7")] == pieces


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"pre": "tekken"}, "'tekken' is not supported"),
        ({"pre": None}, "'default' is not supported"),
        ({"model": "llama"}, "kind 'llama'"),
        ({"merges": None}, "no tokenizer.ggml.merges"),
    ],
)
def test_what_is_not_built_is_refused_by_name(
    gguf_file: GGUFMaker, own: dict[str, str], message: str
) -> None:
    with pytest.raises(TokenizerError, match=message):
        load_tokenizer(gguf_file(**own))


def test_templates_of_gguf_files(gguf_file: GGUFMaker) -> None:
    assert load_text(gguf_file())[1] is None
    template = load_text(gguf_file(chat_template="{{ bos_token }}{{ messages[0].content }}"))[1]
    assert template is not None
    assert template.render([{"role": "user", "content": "x"}]) == "<bos>x"
    with pytest.raises(ChatTemplateError, match="broken"):
        load_text(gguf_file(chat_template="{% if"))


def test_templates_of_folders(folder: Path) -> None:
    """A file of its own wins over the configuration; of several named ones it is ``default``."""

    def rendered() -> str | None:
        template = load_text(str(folder))[1]
        return template and template.render([{"role": "user", "content": "x"}])

    assert rendered() == "[user]x<eos>"
    named = [{"name": "rag", "template": "no"}, {"name": "default", "template": "yes"}]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    assert rendered() == "yes"
    (folder / "chat_template.jinja").write_text("own")
    assert rendered() == "own"
    (folder / "chat_template.jinja").unlink()
    (folder / "tokenizer_config.json").unlink()
    assert rendered() is None


def test_faults_of_folders(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="save_pretrained"):
        load_tokenizer(str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(TokenizerError, match="is no tokenizer"):
        load_tokenizer(str(tmp_path))
    (tmp_path / "tokenizer_config.json").write_text("[")
    with pytest.raises(TokenizerError, match=r"tokenizer_config.json is broken"):
        load_tokenizer(str(tmp_path))


def test_faults_of_files(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="no tokenizer at"):
        load_tokenizer(str(tmp_path / "absent.gguf"))
    other = tmp_path / "other.gguf"
    other.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(CheckpointError, match="it does not begin with GGUF"):
        load_tokenizer(str(other))
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(b"GGUF\x03\x00\x00\x00")
    with pytest.raises(CheckpointError, match="fetch it again"):
        load_tokenizer(str(cut))


def test_tiny_random_is_bytes() -> None:
    tokenizer, template = load_text("tiny-random")
    ids = tokenizer.encode("aé\ud800")
    assert ids == [0, *(2 + value for value in "aé\ufffd".encode())]
    assert tokenizer.encode("<eos>", add_special_tokens=False)[0] == 2 + ord("<")
    assert tokenizer.decode([*ids, 1, 300, 511]) == "aé\ufffd"
    assert tokenizer.decode([0, 1], skip_special_tokens=False) == "<bos><eos>"
    assert (tokenizer.vocab_size, tokenizer.bos_token_id, tokenizer.eos_token_id) == (512, 0, 1)
    assert tokenizer.token_text(2 + ord("x")) == "x"
    assert template is not None
