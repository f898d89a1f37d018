"""``none``: dense weights in the precision of computation, whatever the file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from reference_server.models.linear import dense_linear

if TYPE_CHECKING:
    from reference_server.models.checkpoint import Checkpoint, StoredTensor


class DenseScheme:
    """Dense layers."""

    def check(self, checkpoint: Checkpoint) -> None:
        """Every checkpoint can be made dense."""

    def linear(
        self, weights: list[StoredTensor], bias: Tensor | None, *, dtype: torch.dtype, device: torch.device
    ) -> nn.Module:
        """Read and join the weights."""
        dense = torch.cat([weight.read().to(device, dtype) for weight in weights])
        return dense_linear(dense, bias)


SCHEME = DenseScheme
