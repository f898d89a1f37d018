"""GGUF files: metadata and tensors of llama.cpp, each tensor in whatever type the file says."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gguf.quants import dequantize
from torch import Tensor

from reference_server.models.checkpoint import Checkpoint, StoredTensor
from reference_server.models.config import ModelConfig
from reference_server.models.errors import CheckpointError, UnsupportedModelError
from reference_server.models.gguf_file import GGUFFile, GGUFTensor, is_gguf

if TYPE_CHECKING:
    from collections.abc import Callable

_END_TOKEN_KEYS = ("eos_token_id", "eot_token_id", "eom_token_id")

_OUTER_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_ROPE_FACTORS = "rope_freqs.weight"


def accepts(model: str) -> bool:
    """A file that begins as GGUF does, or whose name says so."""
    return is_gguf(Path(model))


def load(model: str, seed: int) -> Checkpoint:  # noqa: ARG001  # the contract of a loader
    """Read the metadata; tensors stay in the mapped file until they are asked for.

    Raises:
        CheckpointError: The file is broken or lacks a key.
        UnsupportedModelError: It needs something that is not built.
    """
    file = GGUFFile(Path(model))
    tensors = dict(file.tensors)
    config = _config(_Metadata(file.metadata), tensors)
    tensors.pop(_ROPE_FACTORS, None)
    stored = {}
    for tensor in tensors.values():
        name = _hugging_face_name(tensor.name)
        stored[name] = _stored(tensor, _row_order(name, config))
    return Checkpoint(config, stored, quantization="gguf")


class _Metadata:
    """Key and value pairs, of which those of the architecture can be asked for by the rest of their name."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields
        self.architecture: str = self.get("general.architecture")

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401  # values are of any type
        """The value of a key, or the default; without one the key must be there."""
        if key in self._fields:
            return self._fields[key]
        if default is None:
            raise CheckpointError(f"the GGUF file has no {key!r}; convert or fetch the model again")
        return default

    def own(self, key: str, default: Any = None) -> Any:  # noqa: ANN401  # values are of any type
        """The value of an architecture's key."""
        return self.get(f"{self.architecture}.{key}", default)

    def __contains__(self, key: str) -> bool:
        return key in self._fields


def _config(metadata: _Metadata, tensors: dict[str, GGUFTensor]) -> ModelConfig:
    hidden_size, num_heads = metadata.own("embedding_length"), metadata.own("attention.head_count")
    head_dim = metadata.own("attention.key_length", hidden_size // num_heads)
    _refuse_what_is_not_built(metadata, head_dim)
    end_tokens = [f"tokenizer.ggml.{key}" for key in _END_TOKEN_KEYS]
    return ModelConfig(
        architecture=metadata.architecture,
        vocab_size=_vocab_size(tensors),
        hidden_size=hidden_size,
        intermediate_size=metadata.own("feed_forward_length"),
        num_layers=metadata.own("block_count"),
        num_heads=num_heads,
        num_kv_heads=metadata.own("attention.head_count_kv", num_heads),
        head_dim=head_dim,
        rms_norm_eps=metadata.own("attention.layer_norm_rms_epsilon"),
        rope_theta=metadata.own("rope.freq_base", 10000.0),
        rope_factors=_rope_factors(metadata, tensors, head_dim),
        max_model_len=metadata.own("context_length"),
        eos_token_ids=tuple(sorted({metadata.get(key) for key in end_tokens if key in metadata})),
        tie_word_embeddings="output.weight" not in tensors,
    )


def _vocab_size(tensors: dict[str, GGUFTensor]) -> int:
    if "token_embd.weight" not in tensors:
        raise CheckpointError("the GGUF file has no tensor 'token_embd.weight'; it is no language model")
    return tensors["token_embd.weight"].shape[0]


def _refuse_what_is_not_built(metadata: _Metadata, head_dim: int) -> None:
    rotated = metadata.own("rope.dimension_count", head_dim)
    if rotated != head_dim:
        raise UnsupportedModelError(f"partial rotary embedding ({rotated} of {head_dim}) is not supported")
    scaling = metadata.own("rope.scaling.type", "none")
    if scaling not in ("none", "linear"):
        raise UnsupportedModelError(f"rope scaling {scaling!r} is not supported; none and linear are")


def _rope_factors(
    metadata: _Metadata, tensors: dict[str, GGUFTensor], head_dim: int
) -> tuple[float, ...] | None:
    if _ROPE_FACTORS in tensors:
        return tuple(_dequantize(tensors[_ROPE_FACTORS]).tolist())
    if metadata.own("rope.scaling.type", "none") == "linear":
        return (metadata.own("rope.scaling.factor"),) * (head_dim // 2)
    return None


def _hugging_face_name(name: str) -> str:
    """``blk.3.attn_q.weight`` is ``model.layers.3.self_attn.q_proj.weight``; unknown names stay."""
    stem, _, kind = name.rpartition(".")
    if stem.startswith("blk."):
        _, layer, part = stem.split(".", 2)
        return f"model.layers.{layer}.{_LAYER_NAMES.get(part, part)}.{kind}"
    return f"{_OUTER_NAMES.get(stem, stem)}.{kind}"


def _row_order(name: str, config: ModelConfig) -> Callable[[Tensor], Tensor]:
    """How the rows of a tensor must be put in order.

    Files of the architecture ``llama`` hold queries and keys with rotary pairs side by side; here the halves
    of a head are the pair.
    """
    if config.architecture != "llama":
        return _as_stored
    if ".q_proj." in name:
        return functools.partial(_pairs_to_halves, config.num_heads)
    if ".k_proj." in name:
        return functools.partial(_pairs_to_halves, config.num_kv_heads)
    return _as_stored


def _as_stored(rows: Tensor) -> Tensor:
    return rows


def _pairs_to_halves(num_heads: int, rows: Tensor) -> Tensor:
    pairs = rows.view(num_heads, -1, 2, *rows.shape[1:])
    return pairs.transpose(1, 2).reshape(rows.shape)


def _stored(tensor: GGUFTensor, reorder: Callable[[Tensor], Tensor]) -> StoredTensor:
    return StoredTensor(
        tensor.shape,
        tensor.type.name,
        read=lambda: reorder(_dequantize(tensor)),
        read_blocks=lambda: reorder(torch.from_numpy(np.array(tensor.data))),
    )


def _dequantize(tensor: GGUFTensor) -> Tensor:
    try:
        dense = dequantize(tensor.data, tensor.type)
    except NotImplementedError as error:
        raise UnsupportedModelError(
            f"{tensor.name} is stored as {tensor.type.name}, which can't be read; take another file"
        ) from error
    return torch.from_numpy(np.array(dense, copy=not dense.flags.writeable)).view(tensor.shape)
