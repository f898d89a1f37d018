"""Attention backends: where keys and values lie, and how queries meet them.

A backend is a file here, whose name is its name in the configuration, with a class ``BACKEND`` that
implements :class:`AttentionBackend`. It owns the KV pool: ``num_blocks + 1`` blocks of ``block_size`` tokens
for every layer, of which block 0 belongs to nobody. Once a step it is shown the batch and returns the
function that the model calls in each layer. ``dense`` is the specification that all others are held against.
"""

from __future__ import annotations

import abc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reference_server.extensions import extension_names, load_extension

if TYPE_CHECKING:
    from reference_server.engine.batch import Batch

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""``attend(layer, query [T, H, D], key [T, Hkv, D], value [T, Hkv, D]) -> [T, H, D]``."""


class UnsupportedBackendError(ValueError):
    """No attention backend of this name. The message lists those there are."""


@dataclass(frozen=True, kw_only=True)
class KVLayout:
    """Size and place of a KV pool.

    Attributes:
        num_layers: Layers that attend.
        num_heads: Query heads H.
        num_kv_heads: Key and value heads Hkv.
        head_dim: Width D of a head.
        block_size: Tokens a block holds.
        num_blocks: Blocks that sequences may own; the null block comes on top.
        dtype: Of keys, values, queries and results.
        device: Where all of it lies.
    """

    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    block_size: int
    num_blocks: int
    dtype: torch.dtype
    device: torch.device

    @property
    def block_bytes(self) -> int:
        """Memory of one block over all layers."""
        per_token = 2 * self.num_kv_heads * self.head_dim * self.dtype.itemsize
        return self.num_layers * self.block_size * per_token


class AttentionBackend(abc.ABC):
    """What a backend must do. Constructed from a :class:`KVLayout`, it allocates the pool."""

    @abc.abstractmethod
    def __init__(self, layout: KVLayout) -> None: ...

    @abc.abstractmethod
    def plan(self, batch: Batch) -> Attend:
        """Prepare what all layers of a step share.

        The returned function stores keys and values in the slots of the batch, then lets each query attend to
        the stored tokens of its sequence up to and including its own position, scaled by ``D ** -0.5``.
        """


def attention_backend(name: str) -> type[AttentionBackend]:
    """The backend of a name.

    Raises:
        UnsupportedBackendError: There is none.
    """
    package = sys.modules[__name__]
    try:
        return load_extension(package, name).BACKEND  # type: ignore[no-any-return]  # found by name: untyped
    except KeyError:
        known = ", ".join(extension_names(package))
        raise UnsupportedBackendError(f"attention backend {name!r} is not built; there are {known}") from None
