"""Runs a model over a batch: the only place where host arrays become tensors of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from reference_server.attention import AttentionBackend
    from reference_server.engine.batch import Batch


class ModelRunner:
    """A model and its attention backend on one device."""

    def __init__(self, model: Any, attention: AttentionBackend, device: torch.device) -> None:  # noqa: ANN401  # see reference_server.models
        self._model = model
        self._attention = attention
        self._device = device

    @torch.inference_mode()
    def run(self, batch: Batch) -> Tensor:
        """Compute the batch; logits ``[R, vocab_size]`` float32 of the rows that sample."""
        attend = self._attention.plan(batch)
        token_ids = torch.from_numpy(batch.token_ids).to(self._device)
        positions = torch.from_numpy(batch.positions).to(self._device)
        hidden = self._model(token_ids, positions, attend)
        rows = torch.from_numpy(batch.sampling_rows).to(self._device)
        logits: Tensor = self._model.logits(hidden[rows])
        return logits.float()
