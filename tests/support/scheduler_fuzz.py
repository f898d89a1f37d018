"""Random traffic through the scheduler over a pretended KV pool, with everything checked at every step.

The pool remembers in each slot which tokens, after which, under which salt, were computed there. A step
writes all its slots first; then each of its sequences must find in its blocks what it would have computed.
Drafts of random tokens are right as often as chance has it.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from reference_server.engine.block_manager import BlockManager
from reference_server.engine.draft_lengths import WholeDrafts
from reference_server.engine.drafting import Drafting
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.engine.scheduler import MAX_PREEMPTIONS, Scheduler, SchedulerConfig
from reference_server.engine.sequence import Sequence
from reference_server.speculative import Proposer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_server.engine.step_plan import ScheduledSequence

MAX_LIVE = 30
MAX_STEPS_TO_RUN_DRY = 200_000


class PretendedPool:
    """What lies in each slot of each block: a digest of the salt and of all tokens up to there."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._block_size = scheduler.blocks.block_size
        self._slots = [[0] * self._block_size for _ in range(scheduler.blocks.num_blocks + 1)]
        self._digests: dict[Sequence, list[int]] = {}

    def compute(self, scheduled: list[ScheduledSequence]) -> None:
        """Write all, then read all."""
        written = [place for item in scheduled for place in self._write(item)]
        assert len(set(written)) == len(written), "two sequences write to one slot"
        assert not any(block == 0 for block, _ in written), "somebody writes to nobody's block"
        for item in scheduled:
            self._read(item)

    def forget(self, sequence: Sequence) -> None:
        """The sequence is gone; what it computed stays where it is."""
        self._digests.pop(sequence, None)

    def _write(self, item: ScheduledSequence) -> list[tuple[int, int]]:
        sequence, digests = item.sequence, self._digests_after(item)
        first = sequence.num_computed_tokens
        places = []
        for position in range(first, first + item.num_scheduled_tokens):
            block, offset = sequence.block_table[position // self._block_size], position % self._block_size
            self._slots[block][offset] = digests[position]
            places.append((block, offset))
        return places

    def _read(self, item: ScheduledSequence) -> None:
        digests = self._digests_after(item)
        end = item.sequence.num_computed_tokens + item.num_scheduled_tokens
        for index, start in enumerate(range(0, end, self._block_size)):
            stop = min(start + self._block_size, end)
            found = self._slots[item.sequence.block_table[index]][: stop - start]
            assert found == digests[start:stop], f"{item.sequence} reads what is not its own"

    def _digests_after(self, item: ScheduledSequence) -> list[int]:
        digests = self._digests_of(item.sequence)
        if item.draft:
            digests = list(digests)
            for token_id in item.draft:
                digests.append(hash((digests[-1], token_id)))
        return digests

    def _digests_of(self, sequence: Sequence) -> list[int]:
        digests = self._digests.setdefault(sequence, [])
        for token_id in sequence.token_ids[len(digests) :]:
            digests.append(hash((digests[-1] if digests else sequence.cache_salt, token_id)))
        return digests


class RandomProposer(Proposer):
    """Guesses by chance, sometimes nothing."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def propose(self, limits: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        """See :class:`~reference_server.speculative.Proposer`."""
        rng = self._rng
        return {
            sequence: [rng.randrange(2) for _ in range(rng.randint(0, limit))]
            for sequence, limit in limits.items()
            if rng.random() < 0.8
        }


class Fuzz:
    """A random scheduler under random traffic: shared beginnings, salts, priorities, aborts, resets.

    Args:
        seed: Of everything.
        max_draft: Tokens of a draft at most; 0 for none.
        modes: ``batching``, ``kv_allocation`` and ``kv_cache`` of the scheduler.
    """

    def __init__(self, seed: int, max_draft: int = 0, **modes: str) -> None:
        self.rng = random.Random(seed)
        self.num_accepted = 0
        self.num_padding_tokens = 0
        self.num_computed_tokens = 0
        self._seed, self._max_draft, self._modes = seed, max_draft, modes
        self.scheduler = self._scheduler()
        self.num_finished = 0
        self._pool = PretendedPool(self.scheduler)
        self._capacity = self.scheduler.config.max_model_len
        self._texts = [[self.rng.randrange(2) for _ in range(self._capacity)] for _ in range(3)]
        self._live: list[Sequence] = []

    def run(self, num_steps: int) -> Fuzz:
        """So many steps with arrivals, then until nothing is left."""
        for number in range(num_steps):
            if self.rng.random() < 0.4 and len(self._live) < MAX_LIVE:
                self._live.append(self._sequence(number))
                self.scheduler.add(self._live[-1])
            if self._live and self.rng.random() < 0.02:
                self._remove(self.rng.choice(self._live))
            if self.rng.random() < 0.002:
                self.scheduler.blocks.reset_prefix_cache()
            self.step()
        for _ in range(MAX_STEPS_TO_RUN_DRY):
            if not self.scheduler.has_work:
                break
            self.step()
        assert not self._live, f"{len(self._live)} sequences never end"
        assert self.scheduler.blocks.num_free_blocks == self.scheduler.blocks.num_blocks
        return self

    def step(self) -> None:
        """Schedule, pretend to compute, end what is at its end."""
        had_work, before = self.scheduler.has_work, self.scheduler.num_preemptions
        scheduled = self.scheduler.schedule()
        self.num_padding_tokens += self.scheduler.num_step_padding_tokens
        self.num_computed_tokens += sum(item.num_scheduled_tokens for item in scheduled)
        assert bool(scheduled) == had_work, "a step without progress would never end"
        assert self.scheduler.num_preemptions - before <= len(self._live)
        self._check(scheduled)
        self._pool.compute(scheduled)
        self.scheduler.observe(scheduled, self.rng.randrange(10**9))
        for item in scheduled:
            self._advance(item)
        self.scheduler.check_invariants()

    def _advance(self, item: ScheduledSequence) -> None:
        sequence, samples = item.sequence, item.samples
        sequence.num_computed_tokens += item.num_own_tokens
        if not samples:
            return
        num_accepted = self._append(item)
        self.scheduler.judge(sequence, sequence.token_ids[-num_accepted - 1 :])
        if item.draft:
            self.num_accepted += num_accepted
            self.scheduler.advance(sequence, num_accepted)
        assert sequence.num_output_tokens <= sequence.sampling.max_tokens, "a draft goes too far"
        if sequence.num_output_tokens == sequence.sampling.max_tokens:
            self.num_finished += 1
            self._remove(sequence)

    def _append(self, item: ScheduledSequence) -> int:
        """Tokens by chance, as long as they are what was drafted, and one more; how many were drafted."""
        for number, guess in enumerate((*item.draft, None)):
            token_id = self.rng.randrange(2)
            item.sequence.append(token_id)
            if token_id != guess:
                return number
        raise AssertionError("None is no token")

    def _check(self, scheduled: list[ScheduledSequence]) -> None:
        """A step keeps its budget and computes only tokens that have blocks."""
        config, counts = self.scheduler.config, [item.num_scheduled_tokens for item in scheduled]
        assert all(count > 0 for count in counts)
        excess = 0 if config.enable_chunked_prefill else max(counts, default=0)
        num_tokens = sum(counts) + self.scheduler.num_step_padding_tokens
        assert num_tokens - excess <= config.max_num_batched_tokens
        for item in scheduled:
            sequence, end = item.sequence, item.sequence.num_computed_tokens + item.num_scheduled_tokens
            assert end <= sequence.num_tokens + len(item.draft) <= config.max_model_len
            assert not item.draft or item.is_decode
            assert end <= len(sequence.block_table) * self.scheduler.blocks.block_size
            assert sequence.num_cached_tokens < sequence.num_prompt_tokens, "the last token is computed"
            assert sequence.num_preemptions <= MAX_PREEMPTIONS

    def _remove(self, sequence: Sequence) -> None:
        self._live.remove(sequence)
        self.scheduler.remove(sequence)
        self._pool.forget(sequence)

    def _scheduler(self) -> Scheduler:
        rng = self.rng
        num_blocks, block_size = rng.randint(4, 60), rng.choice([1, 4, 16])
        chunked = rng.random() < 0.7 or self._modes.get("kv_cache") == "off"
        several = rng.randint(2, 4) if self._modes.get("kv_allocation") == "contiguous" else 1
        config = SchedulerConfig(
            max_num_seqs=rng.randint(1, 12),
            max_num_batched_tokens=rng.randint(1, 64),
            max_model_len=max(4, num_blocks * block_size // several),
            enable_chunked_prefill=chunked,
            long_prefill_token_threshold=rng.choice([None, 0, 3, 10]) if chunked else 0,
            policy=rng.choice(["fcfs", "priority"]),
            watermark_blocks=rng.randint(0, 3),
            **self._modes,
        )
        caching = rng.random() < 0.8 and not self._modes
        drafting = None
        if self._max_draft:
            proposer = RandomProposer(self._seed)
            drafting = Drafting(proposer, WholeDrafts(), self._max_draft, config.max_model_len)
        return Scheduler(
            config, BlockManager(num_blocks, block_size, enable_prefix_caching=caching), drafting
        )

    def _sequence(self, number: int) -> Sequence:
        """One that fits the pool when it is alone. Three prompts in four share their beginning."""
        rng, capacity = self.rng, self._capacity
        length = rng.randint(1, max(1, capacity - 1) if rng.random() < 0.1 else max(1, capacity // 4))
        shared = max(0, length - rng.randint(0, 8)) if rng.random() < 0.75 else 0
        prompt = rng.choice(self._texts)[:shared] + [rng.randrange(2) for _ in range(length - shared)]
        longest = max(1, capacity - length)
        longest = min(8, longest) if rng.random() < 0.5 else longest
        request = EngineRequest(
            request_id=str(number),
            prompt_token_ids=prompt,
            sampling=SamplingParams(max_tokens=rng.randint(1, longest), seed=0),
            priority=rng.randint(-2, 2),
            cache_salt=rng.choice([None, None, "a", "b"]),
        )
        return Sequence(request)
