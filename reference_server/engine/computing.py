"""From a step's work to its tokens: a batch, the model, the sampler, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from reference_server.engine.batch import make_batch

if TYPE_CHECKING:
    from torch import Tensor

    from reference_server.engine.make_runner import Runner
    from reference_server.engine.sampler import SampledToken
    from reference_server.engine.sequence import Sequence
    from reference_server.engine.step_plan import ScheduledSequence


class TokenSampler(Protocol):
    """Chooses tokens."""

    def sample(self, logits: Tensor, sequences: list[Sequence]) -> list[SampledToken]:
        """One token for each row of logits."""


class Computing(Protocol):
    """What an engine asks of it."""

    def compute(self, scheduled: list[ScheduledSequence]) -> dict[Sequence, SampledToken]:
        """The tokens of those scheduled sequences that sample."""


class StepByStep:
    """Nothing is begun before its turn.

    Args:
        runner: Computes batches.
        sampler: Chooses tokens.
        block_size: Tokens a KV block holds.
    """

    def __init__(self, runner: Runner, sampler: TokenSampler, block_size: int) -> None:
        self._runner, self._sampler, self._block_size = runner, sampler, block_size

    def compute(self, scheduled: list[ScheduledSequence]) -> dict[Sequence, SampledToken]:
        """See :class:`Computing`."""
        batch = make_batch(scheduled, self._block_size)
        logits = self._runner.run(batch)
        sampled = self._sampler.sample(logits, batch.sampling_sequences)
        return dict(zip(batch.sampling_sequences, sampled, strict=True))
