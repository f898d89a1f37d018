"""The layers of a model in one call of C, where each of their operations has a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from reference_server.attention.paged import PagedAttention
from reference_server.kernels.decoder_layers import DecoderLayers, LayerWeights, TokenBatch
from reference_server.kernels.paged_chunk import chunk_functions
from reference_server.quantization._hybrid import HybridLinear

if TYPE_CHECKING:
    from torch import Tensor

    from reference_server.attention import AttentionBackend
    from reference_server.engine.batch import Batch


class CompiledLayers:
    """Computes the hidden states of a batch as the model would.

    Args:
        layers: Of the model.
        max_rows: Tokens that they take at most; None: any number.
    """

    def __init__(self, layers: DecoderLayers, max_rows: int | None) -> None:
        self._layers, self._max_rows = layers, max_rows

    def takes(self, batch: Batch) -> bool:
        """Whether they take a batch of this size."""
        return self._max_rows is None or len(batch.token_ids) <= self._max_rows

    def hidden(self, model: Any, batch: Batch) -> Tensor:  # noqa: ANN401  # see reference_server.models
        """What ``model.forward`` returns for a batch."""
        positions = torch.from_numpy(batch.positions)
        cos, sin = model.rope[positions].unbind(dim=1)
        hidden: Tensor = model.model.embed_tokens(torch.from_numpy(batch.token_ids))
        tokens = TokenBatch(
            cos=cos,
            sin=sin,
            slots=batch.slot_mapping,
            tables=batch.block_tables,
            contexts=batch.context_lens,
            starts=batch.query_starts,
            num_decodes=batch.num_decodes,
        )
        self._layers(hidden, tokens)
        return hidden

    def logits(self, model: Any, hidden: Tensor) -> Tensor:  # noqa: ANN401  # as above
        """What ``model.logits`` returns, in float32, and where the head has a kernel never rounded before."""
        head = model.lm_head
        if isinstance(head, HybridLinear) and head.takes_few(len(hidden)):
            return head.few(model.model.norm(hidden), torch.float32)
        logits: Tensor = model.logits(hidden)
        return logits.float()


def compiled_layers(model: Any, attention: AttentionBackend) -> CompiledLayers | None:  # noqa: ANN401  # as above
    """Those of a model, or None if it has an operation without a kernel."""
    if not isinstance(attention, PagedAttention):
        return None
    pools = attention.pool.layers
    functions, layers = chunk_functions(pools[0]), model.model.layers
    if functions is None or any(layer.self_attn.has_qk_norm for layer in layers):
        return None
    linears = [module for layer in layers for module in _linears(layer)]
    if not all(isinstance(module, HybridLinear) for module in linears):
        return None
    weights = [_weights(layer, pool) for layer, pool in zip(layers, pools, strict=True)]
    num_heads, epsilon = layers[0].self_attn.heads[0], layers[0].input_layernorm.eps
    return CompiledLayers(
        DecoderLayers(functions, weights, num_heads, epsilon),
        min((module.max_few_rows for module in linears if module.max_few_rows is not None), default=None),
    )


def _linears(layer: Any) -> tuple[Any, Any, Any, Any]:  # noqa: ANN401  # as above
    attention, mlp = layer.self_attn, layer.mlp
    return attention.qkv_proj, attention.o_proj, mlp.gate_up_proj, mlp.down_proj


def _weights(layer: Any, pool: Tensor) -> LayerWeights:  # noqa: ANN401  # as above
    qkv, output, gate_up, down = (module.few for module in _linears(layer))
    return LayerWeights(
        input_norm=layer.input_layernorm.weight,
        post_attention_norm=layer.post_attention_layernorm.weight,
        qkv=qkv,
        output=output,
        gate_up=gate_up,
        down=down,
        pool=pool,
    )
