"""A tensor of the device to the host, which goes on with other work until it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor


class Download:
    """A copy that begins now, in the order of the device's stream.

    Args:
        tensor: What to fetch.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._arrived: torch.cuda.Event | None = None
        self._on_host = tensor
        if tensor.is_cuda:
            self._on_host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            self._on_host.copy_(tensor, non_blocking=True)
            self._arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]  # torch's
            self._arrived.record()

    def read(self) -> Any:  # noqa: ANN401  # nested lists, as deep as the tensor
        """Wait until it is there; its numbers as nested lists."""
        if self._arrived is not None:
            self._arrived.synchronize()
        return self._on_host.tolist()
