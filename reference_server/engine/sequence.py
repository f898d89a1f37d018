"""One sequence: its tokens, how far it is computed, and the blocks that hold its keys and values."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.engine.request import EngineRequest, SamplingParams, TokenLogprob


class Sequence:
    """The state of a request in the engine.

    Attributes:
        request_id: Unique among live sequences.
        sampling: How its tokens are chosen.
        cache_salt: Separates its blocks from those of sequences with another salt.
        priority: As asked for; lower is served first, under the priority policy.
        order: Its place among all sequences, from the scheduler: lower is served first.
        token_ids: Prompt, then output.
        num_prompt_tokens: How many of them are the prompt.
        num_computed_tokens: How many have their keys and values in the pool.
        block_table: Ids of the blocks that hold them, in order. Only grows, until all are freed.
        block_keys: Keys of its full blocks, as far as they were needed.
        num_published_blocks: Blocks at the front of the table that others may take over.
        num_cached_tokens: Prompt tokens that another had computed before it was first scheduled.
        output_counts: How often each token is in the output.
        prompt_scores: Of the prompt's tokens after the first, as far as they are computed, if asked for.
        num_preemptions: How often its blocks were taken away.
        scheduled_ns: Monotonic time at which it was first scheduled, 0 before.
        first_token_ns: Monotonic time of its first output token, 0 before.
    """

    def __init__(self, request: EngineRequest) -> None:
        self.request_id = request.request_id
        self.sampling: SamplingParams = request.sampling
        self.cache_salt = request.cache_salt
        self.priority = request.priority
        self.order = (0, 0)
        self.token_ids = list(request.prompt_token_ids)
        self.num_prompt_tokens = len(self.token_ids)
        self.num_computed_tokens = 0
        self.block_table: list[int] = []
        self.block_keys: list[bytes] = []
        self.num_published_blocks = 0
        self.num_cached_tokens = 0
        self.output_counts: Counter[int] = Counter()
        self.prompt_scores: list[TokenLogprob] = []
        self.num_preemptions = 0
        self.scheduled_ns = 0
        self.first_token_ns = 0

    @property
    def num_tokens(self) -> int:
        """Prompt and output so far."""
        return len(self.token_ids)

    @property
    def num_output_tokens(self) -> int:
        """Output so far."""
        return len(self.token_ids) - self.num_prompt_tokens

    @property
    def max_num_tokens(self) -> int:
        """Prompt and output at its longest."""
        return self.num_prompt_tokens + self.sampling.max_tokens

    @property
    def num_uncomputed_tokens(self) -> int:
        """Tokens whose keys and values are missing; 1 while decoding."""
        return len(self.token_ids) - self.num_computed_tokens

    @property
    def lacks_prompt_scores(self) -> bool:
        """Whether its prompt must be computed although others have done so: for what it makes expected."""
        wanted = self.sampling.prompt_logprobs is not None
        return wanted and len(self.prompt_scores) < self.num_prompt_tokens - 1

    @cached_property
    def prompt_token_set(self) -> frozenset[int]:
        """Distinct tokens of the prompt."""
        return frozenset(self.token_ids[: self.num_prompt_tokens])

    def append(self, token_id: int) -> None:
        """Add a token to the output."""
        self.token_ids.append(token_id)
        self.output_counts[token_id] += 1

    def __repr__(self) -> str:
        return f"Sequence({self.request_id}, {self.num_computed_tokens}/{self.num_tokens} tokens)"
