"""What goes into the engine and what comes out: plain messages that can cross a process border."""

from __future__ import annotations

import msgspec


class SamplingParams(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """How the tokens of one sequence are chosen. Already validated; defaults mean "off".

    Attributes:
        max_tokens: Output tokens at most; 0: the prompt is only read.
        min_tokens: No stop token before that many output tokens.
        temperature: 0 means greedy (lowest id on a tie). Values below 1e-5 count as 0.
        top_k: Keep the k most likely tokens; 0 keeps all. Clamped to the vocabulary.
        top_p: Keep the smallest set with this probability mass, 0 < top_p <= 1.
        min_p: Keep tokens at least this share as likely as the likeliest, 0 <= min_p <= 1.
        presence_penalty: Subtracted from logits of tokens already in the output.
        frequency_penalty: Likewise, times their count.
        repetition_penalty: Divides positive and multiplies negative logits of tokens in prompt or output.
        logit_bias: Added to the logits, by token id.
        seed: Makes the sequence's random numbers repeatable, whatever its neighbours in the batch. Always
            set: the API draws one where the client gave none.
        stop_token_ids: End the sequence, besides the model's own end tokens.
        ignore_eos: The model's end tokens don't end the sequence.
        logprobs: Number of alternatives to report per output token (0: the chosen one only); None reports
            nothing.
        prompt_logprobs: Likewise, per prompt token after the first. The whole prompt is computed then,
            whatever the prefix cache holds.
    """

    max_tokens: int
    seed: int
    min_tokens: int = 0
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: dict[int, float] = {}
    stop_token_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    logprobs: int | None = None
    prompt_logprobs: int | None = None


class EngineRequest(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One sequence to generate (a request with ``n`` choices is n of them).

    Attributes:
        request_id: Unique among live requests.
        prompt_token_ids: At least one.
        sampling: How the tokens are chosen.
        priority: Lower is served first, under the priority policy.
        cache_salt: Separates the prefix cache of tenants.
        arrival_ns: Monotonic time at which the API took the request.
    """

    request_id: str
    prompt_token_ids: list[int]
    sampling: SamplingParams
    priority: int = 0
    cache_salt: str | None = None
    arrival_ns: int = 0


class TokenLogprob(msgspec.Struct, frozen=True, array_like=True):
    """Log-probabilities at one position, from the raw logits before temperature.

    Attributes:
        token_id: The chosen token, or the prompt's.
        logprob: Its log-probability.
        top: The likeliest alternatives as (token id, log-probability), best first.
        rank: How many tokens are at least as likely; 0 if that was not asked for.
    """

    token_id: int
    logprob: float
    top: list[tuple[int, float]] = []
    rank: int = 0


class EngineOutput(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """New tokens of one sequence, after one step.

    Attributes:
        request_id: Whose they are.
        token_ids: New tokens since the last output; may be empty in the last one.
            With ``stop`` the token that ended the sequence is the last of them, and counts.
        finish_reason: ``stop``, ``length``, ``abort`` or ``error`` in the last output, else None.
        stop_reason: The stop token id that ended it (None for the model's own end token).
        error: Message for ``error``.
        logprobs: One per token, if asked for.
        prompt_logprobs: One per prompt token after the first, if asked for, in the first output.
        num_prompt_tokens: Length of the prompt.
        num_cached_tokens: Prompt tokens that came from the prefix cache when it was first scheduled.
        scheduled_ns: Monotonic time of the first scheduling, for queue time; 0 if never.
        first_token_ns: Monotonic time of the first token; 0 before it.
        num_preemptions: How often the sequence was preempted so far.
    """

    request_id: str
    token_ids: list[int] = []
    finish_reason: str | None = None
    stop_reason: int | None = None
    error: str | None = None
    logprobs: list[TokenLogprob] | None = None
    prompt_logprobs: list[TokenLogprob] | None = None
    num_prompt_tokens: int = 0
    num_cached_tokens: int = 0
    scheduled_ns: int = 0
    first_token_ns: int = 0
    num_preemptions: int = 0


class EngineStats(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The state of the engine after a step. Counters only grow.

    Attributes:
        num_running: Sequences in the running batch.
        num_waiting: Sequences not yet scheduled (or preempted).
        num_held: Ended sequences whose places and blocks their batch holds.
        num_blocks: KV blocks in the pool.
        num_free_blocks: Of them, free or reusable.
        num_preemptions: Counter.
        num_steps: Counter.
        prompt_tokens: Counter: prompt tokens of requests whose prefill is done, cached ones included.
        prompt_tokens_cached: Counter: of them, those that came from the prefix cache.
        generation_tokens: Counter.
        padding_tokens: Counter: tokens computed for nobody.
        prefix_cache_queries: Counter: prompt tokens looked up, when their sequence was first scheduled.
        prefix_cache_hits: Counter: of them, those found.
        step_tokens: Tokens computed in the last step, drafts and padding among them.
        last_step_ns: Monotonic time of the end of the last step.
        num_drafts: Counter: drafts verified, one for each sequence and step that had one.
        num_draft_tokens: Counter: their tokens.
        num_accepted_per_pos: Counters: of the tokens at each place of a draft, those that became output;
            empty without speculative decoding.
    """

    num_running: int = 0
    num_waiting: int = 0
    num_held: int = 0
    num_blocks: int = 0
    num_free_blocks: int = 0
    num_preemptions: int = 0
    num_steps: int = 0
    prompt_tokens: int = 0
    prompt_tokens_cached: int = 0
    generation_tokens: int = 0
    padding_tokens: int = 0
    prefix_cache_queries: int = 0
    prefix_cache_hits: int = 0
    step_tokens: int = 0
    last_step_ns: int = 0
    num_drafts: int = 0
    num_draft_tokens: int = 0
    num_accepted_per_pos: tuple[int, ...] = ()


class EngineInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What the API must know of a loaded engine.

    Attributes:
        max_model_len: Prompt and output together, tokens.
        vocab_size: Number of token ids.
        eos_token_ids: The model's own end tokens.
        num_blocks: KV blocks in the pool.
        block_size: Tokens a block holds.
        dtype: Of the weights in computation.
        device: ``cpu`` or ``cuda``.
        num_parameters: Of the model.
        weight_bytes: In memory.
        enable_prefix_caching: Whether prompts that begin alike compute their beginning once.
        scheduling_policy: ``fcfs`` or ``priority``.
        batching: ``continuous`` or ``static``.
        kv_allocation: ``paged`` or ``contiguous``.
        kv_cache: ``on`` or ``off``.
        speculation: How tokens are drafted, in words; None if they are not.
        num_speculative_tokens: Tokens of a draft at most.
        notes: Things to tell the user once, such as options that don't apply on this device.
    """

    max_model_len: int
    vocab_size: int
    eos_token_ids: tuple[int, ...]
    num_blocks: int
    block_size: int
    dtype: str
    device: str
    num_parameters: int = 0
    weight_bytes: int = 0
    enable_prefix_caching: bool = True
    scheduling_policy: str = "fcfs"
    batching: str = "continuous"
    kv_allocation: str = "paged"
    kv_cache: str = "on"
    speculation: str | None = None
    num_speculative_tokens: int = 0
    notes: tuple[str, ...] = ()
