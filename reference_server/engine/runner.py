"""Runs a model over a batch: the only place where host arrays become tensors of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from reference_server.engine.compiled_layers import compiled_layers
from reference_server.engine.prompt_scores import score

if TYPE_CHECKING:
    from reference_server.attention import AttentionBackend
    from reference_server.engine.batch import Batch


class ModelRunner:
    """A model and its attention backend on one device."""

    def __init__(self, model: Any, attention: AttentionBackend, device: torch.device) -> None:  # noqa: ANN401  # see reference_server.models
        self._model = model
        self._attention = attention
        self._device = device
        self._compiled = compiled_layers(model, attention)

    @torch.inference_mode()
    def run(self, batch: Batch) -> Tensor:
        """Compute the batch; logits ``[R, vocab_size]`` float32 of the rows that sample. Scores prompts."""
        hidden = self._hidden(batch)
        score(batch.scored, lambda rows: self._logits(hidden[rows]))
        rows = torch.from_numpy(batch.sampling_rows).to(self._device)
        return self._logits(hidden[rows])

    def _hidden(self, batch: Batch) -> Tensor:
        """Hidden states of all tokens, ``[T, hidden]``."""
        if self._compiled is not None and self._compiled.takes(batch):
            return self._compiled.hidden(self._model, batch)
        attend = self._attention.plan(batch)
        token_ids = torch.from_numpy(batch.token_ids).to(self._device)
        positions = torch.from_numpy(batch.positions).to(self._device)
        hidden: Tensor = self._model(token_ids, positions, attend)
        return hidden

    def _logits(self, hidden: Tensor) -> Tensor:
        """Of rows of hidden states, float32."""
        if self._compiled is not None:
            return self._compiled.logits(self._model, hidden)
        logits: Tensor = self._model.logits(hidden)
        return logits.float()
