"""Small random models of ``transformers``, saved as Hugging Face folders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SHAPE: dict[str, Any] = {
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


@pytest.fixture(scope="session")
def save_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Path, Any]]:
    """``save_model(kind, **settings)``: a folder and the model that was saved there, in float32."""

    def save(kind: str, *, max_shard_size: str = "1GB", **settings: Any) -> tuple[Path, Any]:
        import transformers

        config = getattr(transformers, f"{kind}Config")(**(SHAPE | settings))
        torch.manual_seed(0)
        model = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                scale = 0.05 if "norm" in name or "bias" in name else 0.2
                parameter.add_(torch.randn_like(parameter) * scale)
        folder = tmp_path_factory.mktemp(kind)
        model.save_pretrained(folder, max_shard_size=max_shard_size)
        return folder, model

    return save
