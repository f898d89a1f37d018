"""What the choice of a token depends on, beside the logits."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence as SequenceOf

    from reference_server.engine.request import SamplingParams
    from reference_server.engine.sequence import Sequence


class SamplingState(Protocol):
    """A :class:`~reference_server.engine.sequence.Sequence`, as far as a sampler looks at it."""

    @property
    def sampling(self) -> SamplingParams:
        """How its tokens are chosen."""

    @property
    def num_tokens(self) -> int:
        """Prompt and output so far."""

    @property
    def num_output_tokens(self) -> int:
        """Output so far."""

    @property
    def prompt_token_set(self) -> frozenset[int]:
        """Distinct tokens of the prompt."""

    @property
    def output_counts(self) -> Mapping[int, int]:
        """How often each token is in the output."""


class AfterDraft:
    """A sequence as it would be if drafted tokens were its own.

    Args:
        sequence: As it is.
        draft: The tokens that would follow.
    """

    def __init__(self, sequence: Sequence, draft: SequenceOf[int]) -> None:
        self._sequence, self._draft = sequence, draft
        self.sampling = sequence.sampling
        self.num_tokens = sequence.num_tokens + len(draft)
        self.num_output_tokens = sequence.num_output_tokens + len(draft)

    @property
    def prompt_token_set(self) -> frozenset[int]:
        """Distinct tokens of the prompt."""
        return self._sequence.prompt_token_set

    @cached_property
    def output_counts(self) -> Counter[int]:
        """How often each token would be in the output."""
        return self._sequence.output_counts + Counter(self._draft)
