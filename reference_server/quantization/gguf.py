"""``gguf``: the block-quantized weights of a GGUF file, made dense when the model is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.quantization import UnsupportedQuantizationError
from reference_server.quantization.none import DenseScheme

if TYPE_CHECKING:
    from reference_server.models.checkpoint import Checkpoint


class GGUFScheme(DenseScheme):
    """Dense layers from GGUF tensors."""

    def check(self, checkpoint: Checkpoint) -> None:
        """Only a GGUF file has them."""
        if checkpoint.quantization != "gguf":
            raise UnsupportedQuantizationError(
                "quantization 'gguf' needs a .gguf file; leave it out or say 'none' for this model"
            )


SCHEME = GGUFScheme
