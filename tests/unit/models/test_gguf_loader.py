"""GGUF checkpoints, made here from Hugging Face ones, give the same model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gguf
import pytest
import torch

from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import load_engine
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.models.errors import CheckpointError, UnsupportedModelError
from reference_server.models.loaders import load_checkpoint
from reference_server.models.loaders.gguf import _LAYER_NAMES, _OUTER_NAMES

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

pytestmark = pytest.mark.filterwarnings("ignore")  # transformers warns of its own future


def gguf_name(name: str) -> str:
    """The name that llama.cpp gives to a Hugging Face tensor."""
    stem, _, kind = name.rpartition(".")
    outer = {value: key for key, value in _OUTER_NAMES.items()}
    if stem in outer:
        return f"{outer[stem]}.{kind}"
    _, _, layer, part = stem.split(".", 3)
    inner = {value: key for key, value in _LAYER_NAMES.items()}
    return f"blk.{layer}.{inner[part]}.{kind}"


def halves_to_pairs(dense: np.ndarray[Any, Any], num_heads: int) -> np.ndarray[Any, Any]:
    """As llama.cpp's converter writes queries and keys of the architecture ``llama``."""
    heads = dense.reshape(num_heads, 2, -1, *dense.shape[1:])
    return heads.swapaxes(1, 2).reshape(dense.shape)


def write_gguf(path: Path, model: Any, architecture: str, **overrides: Any) -> Path:
    """Convert a ``transformers`` model; ``overrides`` replace metadata (None leaves a key out)."""
    config = model.config
    metadata: dict[str, Any] = {
        "block_count": config.num_hidden_layers,
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads,
        "attention.head_count_kv": config.num_key_value_heads,
        "attention.layer_norm_rms_epsilon": float(config.rms_norm_eps),
        "rope.freq_base": float(config.rope_parameters["rope_theta"]),
    } | overrides
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_uint32("tokenizer.ggml.eos_token_id", 2)
    writer.add_uint32("tokenizer.ggml.eot_token_id", 4)
    for key, value in metadata.items():
        if value is not None:
            add = {int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}[type(value)]
            add(f"{architecture}.{key}", value)
    for name, parameter in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        write_tensor(writer, name, parameter.numpy(), architecture, config)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_tensor(writer: Any, name: str, dense: np.ndarray[Any, Any], architecture: str, config: Any) -> None:
    """Matrices take turns between float32, float16, bfloat16 and Q8_0; vectors stay float32."""
    if architecture == "llama" and ".q_proj" in name:
        dense = halves_to_pairs(dense, config.num_attention_heads)
    if architecture == "llama" and ".k_proj" in name:
        dense = halves_to_pairs(dense, config.num_key_value_heads)
    kinds = [gguf.GGMLQuantizationType[kind] for kind in ("F32", "F16", "BF16", "Q8_0")]
    kind = kinds[sum(map(ord, name)) % 4] if dense.ndim == 2 else kinds[0]
    writer.add_tensor(gguf_name(name), gguf.quants.quantize(dense, kind), raw_dtype=kind)


def first_logprobs(model: Path) -> torch.Tensor:
    """Log-probabilities of every token after a fixed prompt."""
    engine = load_engine(EngineConfig(model=str(model), dtype="float32", device="cpu", cpu_threads=1))
    sampling = SamplingParams(max_tokens=1, seed=0, temperature=0.0, logprobs=engine.info.vocab_size)
    engine.add(EngineRequest(request_id="a", prompt_token_ids=[7, 3, 99, 12, 55], sampling=sampling))
    (output,) = engine.step()
    assert output.logprobs is not None
    return torch.tensor([logprob for _, logprob in sorted(output.logprobs[0].top)])


@pytest.mark.parametrize(
    ("kind", "architecture", "settings"),
    [
        ("Llama", "llama", {}),
        ("Llama", "llama", {"tie_word_embeddings": True}),
        ("Qwen2", "qwen2", {}),
        ("Qwen3", "qwen3", {"head_dim": 16}),
    ],
    ids=str,
)
def test_a_gguf_file_of_mixed_types_is_the_model_it_was_made_from(
    kind: str, architecture: str, settings: dict[str, Any], save_model: Any, tmp_path: Path
) -> None:
    """Up to the rounding of its types, which is far below what a swapped or unpermuted row would do."""
    folder, model = save_model(kind, **settings)
    path = write_gguf(tmp_path / "model.gguf", model, architecture)
    checkpoint = load_checkpoint(str(path))
    assert len({tensor.stored_type for tensor in checkpoint.tensors.values()}) == 4
    assert checkpoint.config.eos_token_ids == (2, 4)
    assert checkpoint.quantization == "gguf"
    torch.testing.assert_close(first_logprobs(path), first_logprobs(folder), rtol=0, atol=0.3)
    for name, parameter in model.state_dict().items():
        if name in checkpoint.tensors:
            torch.testing.assert_close(checkpoint.tensors[name].read(), parameter, rtol=0.01, atol=0.01)


def test_frequency_factors_of_the_file_scale_the_rope(save_model: Any, tmp_path: Path) -> None:
    _, model = save_model("Llama")
    path = write_gguf(
        tmp_path / "a.gguf", model, "llama", **{"rope.scaling.type": "linear"} | {"rope.scaling.factor": 2.0}
    )
    assert load_checkpoint(str(path)).config.rope_factors == (2.0,) * 8


@pytest.mark.parametrize(
    ("architecture", "overrides", "message"),
    [
        ("gemma3", {}, "architecture 'gemma3' is not supported; supported are llama, qwen2, qwen3"),
        ("llama", {"rope.scaling.type": "yarn"}, "rope scaling 'yarn'"),
        ("llama", {"rope.dimension_count": 8}, "partial rotary embedding"),
    ],
)
def test_what_is_not_built_is_refused_by_name(
    architecture: str, overrides: dict[str, Any], message: str, save_model: Any, tmp_path: Path
) -> None:
    _, model = save_model("Llama")
    path = write_gguf(tmp_path / "a.gguf", model, architecture, **overrides)
    with pytest.raises(UnsupportedModelError, match=message):
        load_engine(EngineConfig(model=str(path), device="cpu"))


def test_a_missing_key_is_named(save_model: Any, tmp_path: Path) -> None:
    _, model = save_model("Llama")
    path = write_gguf(tmp_path / "a.gguf", model, "llama", block_count=None)
    with pytest.raises(CheckpointError, match=r"no 'llama\.block_count'"):
        load_checkpoint(str(path))


def test_a_shape_against_the_metadata_is_named(save_model: Any, tmp_path: Path) -> None:
    _, model = save_model("Llama")
    path = write_gguf(tmp_path / "a.gguf", model, "llama", feed_forward_length=64)
    with pytest.raises(CheckpointError, match="gate_up_proj has shape"):
        load_engine(EngineConfig(model=str(path), device="cpu"))


def test_layers_beyond_the_metadata_are_noticed(save_model: Any, tmp_path: Path) -> None:
    _, model = save_model("Llama")
    path = write_gguf(tmp_path / "a.gguf", model, "llama", block_count=2)
    with pytest.raises(CheckpointError, match=r"no place for: model\.layers\.2\."):
        load_engine(EngineConfig(model=str(path), device="cpu"))
