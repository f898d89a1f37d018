"""Drafts by a model: one pass for all sequences for each token of a draft."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from reference_server.engine.batch import make_batch
from reference_server.engine.step_plan import ScheduledSequence
from reference_server.speculative import Proposer
from reference_server.speculative.drafter.follower import Follower

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Sequence as SequenceOf

    from torch import Tensor

    from reference_server.engine.block_manager import BlockManager
    from reference_server.engine.computing import TokenSampler
    from reference_server.engine.make_runner import Runner
    from reference_server.engine.request import SamplingParams
    from reference_server.engine.sequence import Sequence


class DraftModelProposer(Proposer):
    """Guesses what the draft model would answer, with the edits of logits that the request asks for.

    The first pass computes what a sequence has got since its last draft: mostly a token or two, at first its
    whole prompt, in chunks if it is long; it drafts when it has caught up. Where its pool has no room, it
    drafts less or nothing.

    Args:
        runner: Computes batches of the draft model.
        sampler: Chooses tokens.
        blocks: Of its own KV pool.
        max_model_len: Tokens of a sequence that the draft model can see.
        max_batched_tokens: Tokens of the first pass at most.
        greedy: Guess the likeliest tokens, even where the request draws its own.
    """

    def __init__(
        self,
        runner: Runner,
        sampler: TokenSampler,
        blocks: BlockManager,
        *,
        max_model_len: int,
        max_batched_tokens: int,
        greedy: bool,
    ) -> None:
        self._runner, self._sampler, self.blocks = runner, sampler, blocks
        self._max_model_len, self._max_batched_tokens = max_model_len, max_batched_tokens
        self._greedy = greedy
        self._followers: dict[Sequence, Follower] = {}
        self._passes: list[tuple[int, int]] = []

    def propose(self, limits: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        """See :class:`~reference_server.speculative.Proposer`."""
        self._passes = []
        leaders = {self._follower(leader): leader for leader in limits}
        scheduled, ends = self._plan({follower: limits[leader] for follower, leader in leaders.items()})
        num_known = {follower: follower.num_tokens for follower in ends}
        while scheduled:
            self._pass(scheduled)
            scheduled = [ScheduledSequence(f, 1) for f, end in ends.items() if f.num_tokens < end]
        return {leaders[follower]: follower.take_back(known) for follower, known in num_known.items()}

    def ended(self, sequence: Sequence) -> None:
        """See :class:`~reference_server.speculative.Proposer`."""
        follower = self._followers.pop(sequence, None)
        if follower is not None:
            self.blocks.release(follower)

    def preempted(self, sequence: Sequence) -> None:
        """See :class:`~reference_server.speculative.Proposer`. Its full blocks may be found again."""
        self.ended(sequence)

    def reset_prefix_cache(self) -> None:
        """See :class:`~reference_server.speculative.Proposer`."""
        self.blocks.reset_prefix_cache()

    def passes(self) -> SequenceOf[tuple[int, int]]:
        """See :class:`~reference_server.speculative.Proposer`."""
        return self._passes

    def check_invariants(self, live: Iterable[Sequence]) -> None:
        """See :class:`~reference_server.speculative.Proposer`."""
        assert set(self._followers) <= set(live), "the draft model follows a sequence that is gone"
        self.blocks.check_invariants(self._followers.values())

    def _sampling(self, leader: Sequence) -> SamplingParams:
        """How tokens of a draft are chosen."""
        sampling = msgspec.structs.replace(leader.sampling, logprobs=None)
        return msgspec.structs.replace(sampling, temperature=0.0) if self._greedy else sampling

    def _choose(self, logits: Tensor, followers: list[Follower]) -> list[int]:
        """The next token of each draft, from logits ``[R, vocab_size]``."""
        return [token.token_id for token in self._sampler.sample(logits, followers)]

    def _follower(self, leader: Sequence) -> Follower:
        """Who follows a sequence, with all its tokens."""
        if (follower := self._followers.get(leader)) is None:
            follower = self._followers[leader] = Follower(leader, self._sampling(leader))
        follower.catch_up(leader)
        return follower

    def _plan(self, limits: Mapping[Follower, int]) -> tuple[list[ScheduledSequence], dict[Follower, int]]:
        """The first pass, those that miss least first; and how many tokens those that draft shall have."""
        scheduled: list[ScheduledSequence] = []
        ends: dict[Follower, int] = {}
        budget = self._max_batched_tokens
        for follower in sorted(limits, key=lambda follower: follower.num_uncomputed_tokens):
            room = self._make_room(follower, limits[follower]) if budget else 0
            if room and (count := min(follower.num_uncomputed_tokens, budget)):
                self.blocks.publish(follower, follower.num_computed_tokens + count)
                scheduled.append(ScheduledSequence(follower, count))
                budget -= count
                if scheduled[-1].samples:
                    ends[follower] = follower.num_tokens + room
        return scheduled, ends

    def _make_room(self, follower: Follower, limit: int) -> int:
        """Give it blocks for a draft; how many tokens that may have. Its last token is never computed."""
        room = min(limit, self._max_model_len - follower.num_tokens + 1)
        prefix = [] if follower.block_table else self.blocks.find_prefix(follower)
        while room > 0 and not self.blocks.can_grow(follower, follower.num_tokens + room - 1, prefix=prefix):
            room -= 1
        if room <= 0:
            return 0
        if prefix:
            self.blocks.take_over(follower, prefix)
        self.blocks.grow(follower, follower.num_tokens + room - 1)
        return room

    def _pass(self, scheduled: list[ScheduledSequence]) -> None:
        """Compute tokens, and append one to each sequence that samples."""
        begin_ns = time.monotonic_ns()
        batch = make_batch(scheduled, self.blocks.block_size)
        logits = self._runner.run(batch)
        for item in scheduled:
            item.sequence.num_computed_tokens += item.num_scheduled_tokens
        followers = [follower for follower in batch.sampling_sequences if isinstance(follower, Follower)]
        if followers:
            for follower, token_id in zip(followers, self._choose(logits, followers), strict=True):
                follower.append(token_id)
        self._passes.append((len(batch.token_ids), time.monotonic_ns() - begin_ns))
