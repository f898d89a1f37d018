"""Tokenizers in files."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gguf
import pytest
from tokenizers import Tokenizer

from reference_server.model_store import find
from reference_server.text.load import load_tokenizer
from scenarios.errors import ScenarioError
from scenarios.scenario import Scenario, scenario_from
from scenarios.tokenizers import open_tokenizer

if TYPE_CHECKING:
    from scenarios.tokenizers import TokenCounter

TEXTS = ["", "a", "one two  three", "it's 2024 -- naïve café\n\n\tdone", "日本語 🙂", "lone \ud800 half"]
MULTILINGUAL = Path(__file__).parents[2] / "data" / "text" / "multilingual.json"


def _gguf(path: Path, **own: Any) -> Path:
    names = [*(chr(256 + at) for at in range(8)), *"abcdeh", "Ġ", "ab", "Ġa", "<eos>"]
    settings = {
        "model": "gpt2",
        "pre": "smollm",
        "tokens": names,
        "token_type": [3 if name == "<eos>" else 1 for name in names],
        "merges": ["a b", "Ġ a"],
        "eos_token_id": len(names) - 1,
    } | own
    writer = gguf.GGUFWriter(path, "llama")
    kinds = {int: writer.add_uint32, str: writer.add_string, list: writer.add_array}
    for key, value in settings.items():
        if value is not None:
            kinds[type(value)](f"tokenizer.ggml.{key}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def _scenario(tokenizer: object, folder: Path | None = None) -> Scenario:
    data = {"load": {"arrivals": "constant", "rate": 1, "requests": 5}}
    data["prompts"] = {"source": "text", "text": ["Hi there", "Hi"]}
    return scenario_from({"name": "t", "tokenizer": tokenizer, **data}, folder=folder)


def test_folder_and_file_are_the_same_tokenizer(byte_level_bpe: Path) -> None:
    by_folder, by_file = (
        open_tokenizer(each) for each in (byte_level_bpe, byte_level_bpe / "tokenizer.json")
    )
    assert by_folder.count(TEXTS) == by_file.count(TEXTS)


def test_A2_10_no_token_is_put_before_a_text(byte_level_bpe: Path, bpe: TokenCounter) -> None:
    library = Tokenizer.from_file(str(byte_level_bpe / "tokenizer.json"))
    texts = [text for text in TEXTS if text.isprintable()]
    assert [count + 1 for count in bpe.count(texts)] == [len(library.encode(text).ids) for text in texts]
    assert bpe.count([""]) == [0]


def test_few_texts_are_counted_as_many_are(bpe: TokenCounter) -> None:
    assert bpe.count(TEXTS * 100) == [bpe.count([text])[0] for text in TEXTS] * 100


def test_truncation_and_padding_of_the_file_are_not_heeded(byte_level_bpe: Path, tmp_path: Path) -> None:
    library = Tokenizer.from_file(str(byte_level_bpe / "tokenizer.json"))
    library.enable_truncation(4)
    library.enable_padding(length=9)
    library.save(str(tmp_path / "tokenizer.json"))
    text = "one two three four five six seven"
    assert open_tokenizer(tmp_path).count([text, "a"]) == open_tokenizer(byte_level_bpe).count([text, "a"])


def test_gguf_file_is_read_as_the_server_reads_it(tmp_path: Path) -> None:
    path = _gguf(tmp_path / "small.gguf")
    texts = ["ab a", "aab  b", "<eos>ab", "dead beech"]
    server = load_tokenizer(str(path))
    assert open_tokenizer(path).count(texts) == [
        len(server.encode(t, add_special_tokens=False)) for t in texts
    ]


@pytest.mark.parametrize("cut", ["gpt-2", "smollm", "llama-bpe", "qwen2"])
def test_text_is_cut_by_the_rules_that_the_file_names(tmp_path: Path, cut: str) -> None:
    path = _gguf(tmp_path / "small.gguf", pre=cut)
    server = load_tokenizer(str(path))
    texts: list[str] = json.loads(MULTILINGUAL.read_text(encoding="utf-8"))
    assert open_tokenizer(path).count(texts) == [
        len(server.encode(t, add_special_tokens=False)) for t in texts
    ]


def test_real_model_is_counted_as_the_server_counts_it() -> None:
    entry = find("smollm2-135m")
    if not entry.is_present:
        pytest.skip(f"{entry.name} is not in the model store")
    server = load_tokenizer(str(entry.path))
    texts: list[str] = json.loads(MULTILINGUAL.read_text(encoding="utf-8"))
    counts = open_tokenizer(entry.path).count(texts)
    assert counts == [len(server.encode(text, add_special_tokens=False)) for text in texts]


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"model": "llama"}, "vocabulary of kind 'llama'; that isn't supported: name the tokenizer.json"),
        ({"pre": "viking"}, "cuts text by rules named 'viking'; that isn't supported"),
        ({"merges": None}, r"has no tokenizer\.ggml\.merges; convert or fetch it again"),
    ],
)
def test_gguf_file_of_another_kind_is_refused_with_the_remedy(
    tmp_path: Path, own: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError, match=message):
        open_tokenizer(_gguf(tmp_path / "small.gguf", **own))


def test_gguf_file_that_is_cut_short_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    whole = _gguf(tmp_path / "whole.gguf").read_bytes()
    for length in range(4, len(whole), 97):
        path = tmp_path / f"{length}.gguf"
        path.write_bytes(whole[:length])
        with pytest.raises(ScenarioError, match=r"no readable GGUF file \(it is cut short\)"):
            open_tokenizer(path)


def test_gguf_file_with_absurd_lengths_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF" + bytes([3, 0, 0, 0]) + b"\xff" * 60)
    with pytest.raises(ScenarioError, match="no readable GGUF file"):
        open_tokenizer(tmp_path / "a.gguf")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("tokenizer.json", "{}", "is no tokenizer"),
        ("tokenizer.json", "not json", "is no tokenizer"),
        ("notes.txt", "hello", "is no tokenizer; name a tokenizer.json, a folder that holds one, or a .gguf"),
        ("folder/config.json", "{}", "holds no tokenizer.json; make it with transformers"),
    ],
)
def test_file_that_is_none_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=message):
        open_tokenizer(path.parent if "/" in name else path)


def test_missing_library_is_told_with_the_remedy(
    byte_level_bpe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes((byte_level_bpe / "tokenizer.json").read_bytes())
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "tokenizers":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ScenarioError, match=r"pip install 'tokenpace\[tokenizer\]'; or .* tokenizer: server"):
        _scenario(str(path)).schedule()


def test_path_starts_at_the_folder_of_the_scenario(byte_level_bpe: Path) -> None:
    scenario = _scenario(byte_level_bpe.name, byte_level_bpe.parent)
    assert [arrival.prompt.num_tokens for arrival in scenario.schedule().arrivals][:2] == (
        open_tokenizer(byte_level_bpe).count(["Hi there", "Hi"])
    )


def test_A10_05_name_of_a_model_is_no_path_and_is_looked_up_nowhere() -> None:
    with pytest.raises(ScenarioError, match=r"tokenizer: no file or folder meta-llama/Llama-3.* by name"):
        _scenario("meta-llama/Llama-3-8B")


@pytest.mark.parametrize("value", [5, True, ["words"], {"path": "x"}])
def test_other_values_are_refused_with_what_can_be_written(value: object) -> None:
    with pytest.raises(ScenarioError, match="tokenizer: write words, server, or the path"):
        _scenario(value)


def test_server_is_asked_in_a_run_only() -> None:
    with pytest.raises(ScenarioError, match="there is no server to ask here"):
        _scenario("server").schedule()
    assert _scenario("server").outline().num_requests == 5


def test_without_a_tokenizer_nobody_counts() -> None:
    assert [arrival.prompt.num_tokens for arrival in _scenario("words").schedule().arrivals] == [None] * 5
