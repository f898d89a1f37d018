"""A checkpoint: the shape of a model and its tensors as they lie in a file, read when asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import torch

    from reference_server.models.config import ModelConfig


@dataclass(frozen=True)
class StoredTensor:
    """One tensor as it is stored.

    Attributes:
        shape: Of the dense tensor, rows first.
        stored_type: How the file holds it, e.g. ``F32``, ``BF16``, ``Q4_1``.
        read: Returns it dense, in the precision it is stored in (float32 for quantized types).
        read_blocks: Returns the quantized blocks as they lie in the file, uint8 ``[rows, bytes of a row]``.
            None where there are none.
    """

    shape: tuple[int, ...]
    stored_type: str
    read: Callable[[], torch.Tensor]
    read_blocks: Callable[[], torch.Tensor] | None = None

    @property
    def numel(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Checkpoint:
    """What a loader finds.

    Attributes:
        config: Shape of the model.
        tensors: By their Hugging Face names.
        quantization: The scheme that fits the file where the user names none.
    """

    config: ModelConfig
    tensors: Mapping[str, StoredTensor]
    quantization: str
