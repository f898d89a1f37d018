"""A draft model of some layers of a model, with its embedding: a start for training; or to see its cost.

    python tools/take_layers.py smollm2-135m draft --layers 0 1 28 29

A folder for ``--speculative-config``, as its ``model``. It has no tokenizer, since it is the model's own.
Layers that were never trained to follow one another are rarely right: as it comes, the engine soon stops
asking it.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save_file

from reference_server.model_store import TINY_RANDOM, resolve
from reference_server.models.loaders import load_checkpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_server.models.checkpoint import Checkpoint
    from reference_server.models.config import ModelConfig

_ARCHITECTURES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}
_LAYER = re.compile(r"model\.layers\.(\d+)\.(.*)")


def take_layers(checkpoint: Checkpoint, layers: Sequence[int], folder: Path) -> int:
    """Write a Hugging Face folder of a model's embedding, head and some of its layers, in bfloat16.

    Args:
        checkpoint: The model.
        layers: Numbers of the layers to take, in the order in which they shall follow one another.
        folder: Where; made if it isn't there.

    Returns:
        Parameters taken.

    Raises:
        ValueError: There is no such layer, or the model has scaled positions, which are not written.
    """
    unknown = [number for number in layers if not 0 <= number < checkpoint.config.num_layers]
    if unknown or not layers:
        raise ValueError(f"layers {list(layers)}; the model has 0 to {checkpoint.config.num_layers - 1}")
    if checkpoint.config.rope_factors is not None:
        raise ValueError("the model scales its positions, which can't be written; take another")
    folder.mkdir(parents=True, exist_ok=True)
    places = {number: place for place, number in enumerate(layers)}
    tensors = {
        name: stored.read().to(torch.bfloat16).contiguous()
        for old, stored in checkpoint.tensors.items()
        if (name := _new_name(old, places)) is not None
    }
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(_settings(checkpoint.config, len(layers)), indent=1))
    return sum(tensor.numel() for tensor in tensors.values())


def _new_name(name: str, places: dict[int, int]) -> str | None:
    """The name of a tensor in the smaller model; None if it stays behind."""
    if (match := _LAYER.fullmatch(name)) is None:
        return name
    number = int(match[1])
    return f"model.layers.{places[number]}.{match[2]}" if number in places else None


def _settings(config: ModelConfig, num_layers: int) -> dict[str, Any]:
    """As ``config.json`` has them."""
    return {
        "architectures": [_ARCHITECTURES[config.architecture]],
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
        "rms_norm_eps": config.rms_norm_eps,
        "rope_theta": config.rope_theta,
        "max_position_embeddings": config.max_model_len,
        "eos_token_id": list(config.eos_token_ids),
        "tie_word_embeddings": config.tie_word_embeddings,
    }


def main() -> int:
    """Write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", help="name in the model store, or path")
    parser.add_argument("folder", type=Path, help="where to write the draft model")
    parser.add_argument("--layers", type=int, nargs="+", required=True, help="layers to take, in order")
    args = parser.parse_args()
    model = args.model if args.model == TINY_RANDOM else str(resolve(args.model))
    try:
        count = take_layers(load_checkpoint(model), args.layers, args.folder)
    except ValueError as error:
        parser.error(str(error))
    print(f"{args.folder}: {len(args.layers)} layers, {count / 1e6:.1f} million parameters")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
