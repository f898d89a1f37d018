"""Hugging Face folders: ``config.json`` beside ``.safetensors`` files, one or sharded."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from reference_server.models.checkpoint import Checkpoint, StoredTensor
from reference_server.models.config import ModelConfig
from reference_server.models.errors import CheckpointError, UnsupportedModelError
from reference_server.models.rope import llama3_factors

if TYPE_CHECKING:
    from torch import Tensor

_ARCHITECTURES = {
    "LlamaForCausalLM": "llama",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
}


def accepts(model: str) -> bool:
    """A folder with a ``config.json``."""
    return (Path(model) / "config.json").is_file()


def load(model: str, seed: int) -> Checkpoint:  # noqa: ARG001  # the contract of a loader
    """Read the configuration and the names and shapes of the tensors.

    Raises:
        CheckpointError: A file is missing or broken.
        UnsupportedModelError: The model needs something that is not built.
    """
    folder = Path(model)
    settings = _read_json(folder / "config.json")
    _refuse_what_is_not_built(settings)
    config = _config(settings, folder)
    tensors = _tensors(folder)
    if config.tie_word_embeddings:
        tensors.pop("lm_head.weight", None)
    return Checkpoint(config, tensors, quantization="none")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]  # JSON
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} can't be read ({error}); fetch the model again") from error


def _refuse_what_is_not_built(settings: dict[str, Any]) -> None:
    found = settings.get("architectures") or ["none"]
    if found[0] not in _ARCHITECTURES:
        known = ", ".join(_ARCHITECTURES)
        raise UnsupportedModelError(f"architecture {found[0]!r} is not supported; supported are {known}")
    if "quantization_config" in settings:
        method = settings["quantization_config"].get("quant_method", "unknown")
        raise UnsupportedModelError(f"checkpoints quantized with {method!r} are not supported yet")
    if settings.get("hidden_act", "silu") != "silu":
        raise UnsupportedModelError(f"activation {settings['hidden_act']!r} is not supported; silu is")
    if settings.get("use_sliding_window"):
        raise UnsupportedModelError("sliding-window attention is not supported")


def _config(settings: dict[str, Any], folder: Path) -> ModelConfig:
    try:
        num_heads = settings["num_attention_heads"]
        head_dim = settings.get("head_dim") or settings["hidden_size"] // num_heads
        rope = _rope_settings(settings)
        return ModelConfig(
            architecture=_ARCHITECTURES[settings["architectures"][0]],
            vocab_size=settings["vocab_size"],
            hidden_size=settings["hidden_size"],
            intermediate_size=settings["intermediate_size"],
            num_layers=settings["num_hidden_layers"],
            num_heads=num_heads,
            num_kv_heads=settings.get("num_key_value_heads") or num_heads,
            head_dim=head_dim,
            rms_norm_eps=settings["rms_norm_eps"],
            rope_theta=rope["rope_theta"],
            rope_factors=_rope_factors(rope, head_dim),
            max_model_len=settings["max_position_embeddings"],
            eos_token_ids=_eos_token_ids(settings, folder),
            tie_word_embeddings=settings.get("tie_word_embeddings", False),
        )
    except KeyError as error:
        raise CheckpointError(f"config.json has no {error}; fetch the model again") from error


def _rope_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Base and scaling, which newer files keep together and older ones apart."""
    scaling = settings.get("rope_parameters") or settings.get("rope_scaling") or {}
    return {"rope_theta": settings.get("rope_theta", 10000.0), **scaling}


def _rope_factors(rope: dict[str, Any], head_dim: int) -> tuple[float, ...] | None:
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind == "default":
        return None
    if kind == "linear":
        return (rope["factor"],) * (head_dim // 2)
    if kind == "llama3":
        return llama3_factors(
            head_dim,
            rope["rope_theta"],
            factor=rope["factor"],
            low_freq=rope["low_freq_factor"],
            high_freq=rope["high_freq_factor"],
            original_len=rope["original_max_position_embeddings"],
        )
    raise UnsupportedModelError(f"rope scaling {kind!r} is not supported; default, linear and llama3 are")


def _eos_token_ids(settings: dict[str, Any], folder: Path) -> tuple[int, ...]:
    """End tokens of ``generation_config.json``, which knows more than ``config.json``, else of the latter."""
    found = settings.get("eos_token_id")
    path = folder / "generation_config.json"
    if path.is_file():
        found = _read_json(path).get("eos_token_id", found)
    if found is None:
        return ()
    return tuple(found) if isinstance(found, list) else (found,)


def _tensors(folder: Path) -> dict[str, StoredTensor]:
    paths = sorted(folder.glob("*.safetensors"))
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        paths = [folder / name for name in sorted(set(_read_json(index)["weight_map"].values()))]
    if not paths:
        raise CheckpointError(f"{folder} has no .safetensors files; fetch the model again")
    tensors: dict[str, StoredTensor] = {}
    for path in paths:
        tensors.update(_tensors_of_file(path))
    return {name: tensor for name, tensor in tensors.items() if not name.endswith("rotary_emb.inv_freq")}


def _tensors_of_file(path: Path) -> dict[str, StoredTensor]:
    try:
        with safe_open(path, framework="pt") as file:
            return {
                name: StoredTensor(
                    tuple(part.get_shape()), part.get_dtype(), functools.partial(_read, path, name)
                )
                for name in file.keys()  # noqa: SIM118  # not a mapping
                for part in [file.get_slice(name)]
            }
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path} can't be read ({error}); fetch the model again") from error


def _read(path: Path, name: str) -> Tensor:
    with safe_open(path, framework="pt") as file:
        return file.get_tensor(name)  # type: ignore[no-any-return]  # the library is untyped
