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


class RotatingAttend(abc.ABC):
    """An ``Attend`` that can also rotate queries and keys, on their way into the pool."""

    @abc.abstractmethod
    def __call__(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """As :data:`Attend`."""

    @abc.abstractmethod
    def rotate_and_attend(self, layer: int, qkv: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Rotate the queries and keys of ``qkv``, then as :data:`Attend`.

        Args:
            layer: Which.
            qkv: ``[T, H + 2 Hkv, D]``: query heads, key heads, value heads; may be changed.
            cos: ``[T, 1, D]``.
            sin: Signed: negative for the first half. ``[T, 1, D]``, as far apart as the cosines.
        """


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


class GraphableBackend(AttentionBackend):
    """A backend whose decoding can be recorded in a CUDA graph."""

    @abc.abstractmethod
    def plan_decode(
        self, slots: Tensor, contexts: Tensor, block_tables: Tensor, table_width: Tensor
    ) -> RotatingAttend:
        """Plan a step of one token per sequence from memory of the device, which is read anew each time.

        Args:
            slots: int32 ``[B]``, where each key and value goes: block x block_size + offset.
            contexts: int32 ``[B]``, tokens of each sequence after the step, at least 1.
            block_tables: int32; those of all sequences one after the other.
            table_width: int32 ``[1]``, blocks from one table to the next.
        """


def attention_backend(name: str) -> type[AttentionBackend]:
    """The backend of a name.

    Raises:
        UnsupportedBackendError: There is none, or it needs a library that is not installed.
    """
    package = sys.modules[__name__]
    try:
        return load_extension(package, name).BACKEND  # type: ignore[no-any-return]  # found by name: untyped
    except ModuleNotFoundError as error:
        raise UnsupportedBackendError(
            f"attention backend {name!r} needs {error.name}, which is not installed"
        ) from None
    except KeyError:
        known = ", ".join(extension_names(package))
        raise UnsupportedBackendError(f"attention backend {name!r} is not built; there are {known}") from None
