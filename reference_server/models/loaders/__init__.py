"""Loaders: one file for each kind of checkpoint, found by itself.

A loader file offers

- ``accepts(model: str) -> bool``: whether the path or name is of its kind, cheaply;
- ``load(model: str, seed: int) -> Checkpoint``: the shape and the tensors under their Hugging Face names. It
  reads no more of the weights than it must; ``seed`` is for weights that are drawn.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from reference_server.extensions import extension_names, load_extension
from reference_server.models.errors import ModelNotFoundError

if TYPE_CHECKING:
    from reference_server.models.checkpoint import Checkpoint


def load_checkpoint(model: str, seed: int = 0) -> Checkpoint:
    """Read a checkpoint by whichever loader accepts it.

    Raises:
        ModelNotFoundError: No loader does.
        ModelError: The one that does found a fault.
    """
    package = sys.modules[__name__]
    for name in extension_names(package):
        loader = load_extension(package, name)
        if loader.accepts(model):
            return loader.load(model, seed)  # type: ignore[no-any-return]  # a module found by name is untyped
    raise ModelNotFoundError(
        f"no model at {model!r}; give a .gguf file, a Hugging Face folder with config.json and .safetensors "
        "files, or the name tiny-random"
    )
