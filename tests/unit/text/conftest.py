"""Tokenizers for the tests: the real one where it is present, and small ones made here."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gguf
import pytest
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, pre_tokenizers

from reference_server.model_store import find
from reference_server.text.byte_level import BYTE_OF
from reference_server.text.load import load_text, load_tokenizer
from reference_server.text.loaders import TextSide

if TYPE_CHECKING:
    from reference_server.text.tokenizer import Tokenizer

DATA = Path(__file__).parents[2] / "data" / "text"
CHAT_TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{{ eos_token }}{% endfor %}"
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w"]


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """The real checkpoint."""
    entry = find("smollm2-135m")
    if not entry.is_present:
        pytest.skip(
            f"{entry.name} is not in the model store; fetch it with: tokenpace model pull {entry.name}"
        )
    return entry.path


@pytest.fixture(scope="session")
def smollm2(smollm2_path: Path) -> TextSide:
    """Its tokenizer and template, as we load them."""
    return TextSide(*load_text(str(smollm2_path)))


@pytest.fixture(scope="session")
def oracle(smollm2_path: Path) -> Any:
    """Its tokenizer and template, as transformers loads them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(smollm2_path.parent, gguf_file=smollm2_path.name)


@pytest.fixture(scope="session")
def multilingual() -> list[str]:
    """Strings of many kinds."""
    strings: list[str] = json.loads((DATA / "multilingual.json").read_text())
    return strings


def vocabulary() -> list[str]:
    """The bytes, the merges' results, and two tokens that mark structure."""
    return [*sorted(BYTE_OF), *(merge.replace(" ", "") for merge in MERGES), "<bos>", "<eos>"]


@pytest.fixture
def gguf_file(tmp_path: Path) -> Any:
    """A maker of GGUF files with a small byte-level vocabulary; settings of its own win."""

    def make(**own: Any) -> str:
        names = vocabulary()
        settings = {
            "model": "gpt2",
            "pre": "smollm",
            "tokens": names,
            "token_type": [3 if name in ("<bos>", "<eos>") else 1 for name in names],
            "merges": MERGES,
            "bos_token_id": len(names) - 2,
            "eos_token_id": len(names) - 1,
        } | own
        path = tmp_path / "small.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        for key, value in settings.items():
            _add(
                writer,
                "tokenizer.chat_template" if key == "chat_template" else f"tokenizer.ggml.{key}",
                value,
            )
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        return str(path)

    return make


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if value is None:
        return
    kinds = {bool: writer.add_bool, int: writer.add_uint32, str: writer.add_string, list: writer.add_array}
    kinds[type(value)](key, value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A Hugging Face folder with the same vocabulary and a template."""
    names = vocabulary()
    library = Library(
        models.BPE({name: i for i, name in enumerate(names)}, [tuple(merge.split()) for merge in MERGES])
    )
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens(["<bos>", "<eos>"])
    library.save(str(tmp_path / "tokenizer.json"))
    config = {"bos_token": "<bos>", "eos_token": {"content": "<eos>"}, "chat_template": CHAT_TEMPLATE}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    return tmp_path


@pytest.fixture
def byte_fallback(tmp_path: Path) -> Tokenizer:
    """A vocabulary of the SentencePiece kind: words, and bytes for what it has no word for."""
    names = [
        "<unk>",
        "<s>",
        *(f"<0x{value:02X}>" for value in range(256)),
        "\u2581hello",
        "\u2581world",
        "s",
        "\u2581",
    ]
    library = Library(
        models.BPE({name: i for i, name in enumerate(names)}, [], byte_fallback=True, unk_token="<unk>")
    )
    library.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    library.add_special_tokens(["<s>"])
    library.save(str(tmp_path / "tokenizer.json"))
    return load_tokenizer(str(tmp_path))


@pytest.fixture
def tiny() -> Tokenizer:
    """One token per byte."""
    return load_tokenizer("tiny-random")
