"""Quantization schemes: how the linear layers of a model hold and multiply their weights.

A scheme is a file here, whose name is its name in the configuration, with a class ``SCHEME`` that implements
:class:`QuantizationScheme`. It makes the packed state once, when the model is built; the model then calls the
module it returned and never learns what is inside.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from reference_server.extensions import extension_names, load_extension

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from reference_server.models.checkpoint import Checkpoint, StoredTensor


class UnsupportedQuantizationError(ValueError):
    """The scheme is not built, or doesn't fit the checkpoint. The message names both and the remedy."""


class QuantizationScheme(Protocol):
    """What a scheme must do."""

    def check(self, checkpoint: Checkpoint) -> None:
        """Raise ``UnsupportedQuantizationError`` if the checkpoint can't be served this way."""

    def linear(
        self, weights: list[StoredTensor], bias: Tensor | None, *, dtype: torch.dtype, device: torch.device
    ) -> nn.Module:
        """Make a layer ``x [T, in] -> [T, out]``.

        Args:
            weights: Matrices ``[out_i, in]`` of one input, to be joined by rows.
            bias: ``[out]`` or None.
            dtype: Of ``x`` and of the result.
            device: Of both.
        """


def quantization_scheme(name: str) -> QuantizationScheme:
    """The scheme of a name.

    Raises:
        UnsupportedQuantizationError: It is not built.
    """
    package = sys.modules[__name__]
    try:
        return load_extension(package, name).SCHEME()  # type: ignore[no-any-return]  # found by name: untyped
    except KeyError:
        known = ", ".join(extension_names(package))
        raise UnsupportedQuantizationError(
            f"quantization {name!r} is not built yet; there are {known}; left out, the file decides"
        ) from None
