"""A sequence as a draft model has it: the same tokens, keys and values of its own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reference_server.engine.request import EngineRequest
from reference_server.engine.sequence import Sequence

if TYPE_CHECKING:
    from reference_server.engine.request import SamplingParams


class Follower(Sequence):
    """Follows a sequence of the target, its leader.

    While a draft is made its tokens are the sequence's own; afterwards they are taken back, until the leader
    shows how many of them came true. So between steps it has known tokens only.

    Args:
        leader: Whom it follows.
        sampling: How drafted tokens are chosen.
    """

    def __init__(self, leader: Sequence, sampling: SamplingParams) -> None:
        prompt = leader.token_ids[: leader.num_prompt_tokens]
        request = EngineRequest(
            request_id=leader.request_id,
            prompt_token_ids=prompt,
            sampling=sampling,
            cache_salt=leader.cache_salt,
        )
        super().__init__(request)
        self._draft: list[int] = []
        self._num_ahead = 0

    def catch_up(self, leader: Sequence) -> None:
        """Take over the leader's new tokens; what was computed of a draft counts as far as it came true."""
        new = leader.token_ids[self.num_tokens :]
        self.num_computed_tokens += min(_num_equal(self._draft, new), self._num_ahead)
        self._draft, self._num_ahead = [], 0
        for token_id in new:
            self.append(token_id)

    def take_back(self, num_known: int) -> list[int]:
        """The tokens after the first ``num_known``, which are guessed, are its own no more."""
        draft = self.token_ids[num_known:]
        del self.token_ids[num_known:]
        self.output_counts -= Counter(draft)
        self._draft, self._num_ahead = draft, self.num_computed_tokens - num_known
        self.num_computed_tokens = num_known
        return draft


def _num_equal(left: list[int], right: list[int]) -> int:
    """How many tokens two lists begin with in common."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
