"""From a step's work to its tokens: a batch, the model, the sampler, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from reference_server.engine.batch import make_batch
from reference_server.engine.rejection import rejection_sample
from reference_server.engine.verification import accepted_tokens, sampling_states

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

    from torch import Tensor

    from reference_server.engine.make_runner import Runner
    from reference_server.engine.rejection import DrawingProposer
    from reference_server.engine.sampler import SampledToken
    from reference_server.engine.sampling_state import SamplingState
    from reference_server.engine.sequence import Sequence
    from reference_server.engine.step_plan import ScheduledSequence


class TokenSampler(Protocol):
    """Chooses tokens."""

    def sample(self, logits: Tensor, sequences: SequenceOf[SamplingState]) -> list[SampledToken]:
        """One token for each row of logits."""

    def laws(self, logits: Tensor, sequences: SequenceOf[SamplingState]) -> Tensor:
        """By which each is chosen, float64 ``[R, vocab_size]``."""


class Computing(Protocol):
    """What an engine asks of it."""

    def compute(
        self, scheduled: list[ScheduledSequence], num_padding_tokens: int
    ) -> dict[Sequence, list[SampledToken]]:
        """The next tokens of those scheduled sequences that sample: one, and what stands of its draft."""


class StepByStep:
    """Nothing is begun before its turn.

    Args:
        runner: Computes batches.
        sampler: Chooses tokens.
        block_size: Tokens a KV block holds.
        drawing: Draws the drafts from laws; None where each is the only one it could be.
    """

    def __init__(
        self, runner: Runner, sampler: TokenSampler, block_size: int, drawing: DrawingProposer | None = None
    ) -> None:
        self._runner, self._sampler, self._block_size = runner, sampler, block_size
        self._drawing = drawing

    def compute(
        self, scheduled: list[ScheduledSequence], num_padding_tokens: int
    ) -> dict[Sequence, list[SampledToken]]:
        """See :class:`Computing`."""
        batch = make_batch(scheduled, self._block_size, num_padding_tokens)
        logits = self._runner.run(batch)
        if self._drawing is not None and batch.drafts:
            return rejection_sample(logits, batch, self._sampler, self._drawing)
        return accepted_tokens(batch, self._sampler.sample(logits, sampling_states(batch)))
