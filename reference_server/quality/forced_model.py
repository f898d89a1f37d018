"""A model shown a given text: the server's own weights, kernels and KV pool, with logits of every token."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from reference_server.engine.batch import make_batch
from reference_server.engine.loading import load_model
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.engine.sequence import Sequence
from reference_server.engine.step_plan import ScheduledSequence

if TYPE_CHECKING:
    from torch import Tensor

    from reference_server.engine.config import EngineConfig

STEP_ROWS = 32
"""Tokens computed at once: so few that quantized layers compute as they do when they decode."""


class ForcedModel:
    """A model that reads one text after the other."""

    def __init__(self, config: EngineConfig) -> None:
        loaded = load_model(config)
        self.info = loaded.info
        self._runner = loaded.runner

    def logits(self, token_ids: list[int], num_read: int) -> Tensor:
        """Logits after each token of a text from ``num_read`` on, float32 ``[T, vocab_size]``.

        The ``num_read`` before must have been read by the call before, and lie in its KV cache.
        """
        sequence = self._sequence(token_ids, num_read)
        item = ScheduledSequence(sequence, len(token_ids) - num_read)
        batch = make_batch([item], self.info.block_size)
        batch = dataclasses.replace(batch, sampling_rows=np.arange(len(token_ids) - num_read))
        return self._runner.run(batch).clone().cpu()

    def greedy(self, prompt: list[int], num_tokens: int) -> list[int]:
        """The likeliest tokens, one after the other, past any end of text."""
        text, num_read = list(prompt), 0
        for _ in range(num_tokens):
            while len(text) - num_read > STEP_ROWS:
                self.logits(text[: num_read + STEP_ROWS], num_read)
                num_read += STEP_ROWS
            logits = self.logits(text, num_read)
            num_read = len(text)
            text.append(int(logits[-1].argmax()))
        return text[len(prompt) :]

    def _sequence(self, token_ids: list[int], num_read: int) -> Sequence:
        nothing = SamplingParams(max_tokens=1, seed=0)
        sequence = Sequence(EngineRequest(request_id="", prompt_token_ids=list(token_ids), sampling=nothing))
        sequence.num_computed_tokens = num_read
        num_blocks = -(-len(token_ids) // self.info.block_size)
        sequence.block_table.extend(range(1, num_blocks + 1))
        return sequence
