"""Hugging Face folders that are broken, or ask for what is not built."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import load_engine
from reference_server.models.errors import CheckpointError, UnsupportedModelError
from reference_server.models.loaders import load_checkpoint

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore")  # transformers warns of its own future


@pytest.fixture
def folder(save_model: Any, tmp_path: Path) -> Path:
    """A copy of a sound folder, to be spoilt."""
    sound, _ = save_model("Llama")
    return shutil.copytree(sound, tmp_path / "model")


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"architectures": ["MixtralForCausalLM"]},
            "'MixtralForCausalLM' is not supported; supported are Llama",
        ),
        ({"architectures": None}, "architecture 'none'"),
        ({"quantization_config": {"quant_method": "awq"}}, "quantized with 'awq'"),
        ({"hidden_act": "gelu"}, "activation 'gelu'"),
        ({"use_sliding_window": True}, "sliding-window"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}, "rope scaling 'yarn'"),
    ],
)
def test_what_is_not_built_is_refused_by_name(folder: Path, changes: dict[str, Any], message: str) -> None:
    change_config(folder, **changes)
    with pytest.raises(UnsupportedModelError, match=message):
        load_checkpoint(str(folder))


def test_older_files_keep_base_and_scaling_apart(folder: Path) -> None:
    change_config(
        folder, rope_parameters=None, rope_theta=777.0, rope_scaling={"type": "linear", "factor": 2.0}
    )
    config = load_checkpoint(str(folder)).config
    assert (config.rope_theta, config.rope_factors) == (777.0, (2.0,) * 8)


def test_generation_settings_know_more_end_tokens(folder: Path) -> None:
    (folder / "generation_config.json").write_text('{"eos_token_id": [2, 5]}')
    assert load_checkpoint(str(folder)).config.eos_token_ids == (2, 5)


def test_broken_json_is_named(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"config\.json can't be read"):
        load_checkpoint(str(folder))


def test_a_missing_setting_is_named(folder: Path) -> None:
    settings = json.loads((folder / "config.json").read_text())
    del settings["num_hidden_layers"]
    (folder / "config.json").write_text(json.dumps(settings))
    with pytest.raises(CheckpointError, match="no 'num_hidden_layers'"):
        load_checkpoint(str(folder))


def test_a_folder_without_weights_is_named(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"no \.safetensors files"):
        load_checkpoint(str(folder))


def test_a_cut_file_is_named(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(CheckpointError, match=r"model\.safetensors can't be read"):
        load_checkpoint(str(folder))


def test_an_untied_head_that_is_absent_is_not_taken_for_tied(save_model: Any) -> None:
    folder, _ = save_model("Llama", tie_word_embeddings=True)
    change_config(folder, tie_word_embeddings=False)
    with pytest.raises(CheckpointError, match=r"'lm_head\.weight' is missing"):
        load_engine(EngineConfig(model=str(folder), device="cpu"))
