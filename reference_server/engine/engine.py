"""The engine: sequences go in, tokens come out, one step at a time.

Synchronous and single-threaded. Whoever owns it calls :meth:`Engine.step` while :attr:`Engine.has_work`, and
:meth:`Engine.add` and :meth:`Engine.abort` between steps.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from reference_server.engine.block_manager import BlockManager
from reference_server.engine.computing import Computing, StepByStep
from reference_server.engine.device_sampler import DeviceSampler
from reference_server.engine.draft_counts import DraftCounts
from reference_server.engine.draft_lengths import DraftsThatPay, WholeDrafts
from reference_server.engine.drafting import Drafting
from reference_server.engine.errors import InvalidRequestError, RequestTooLargeError
from reference_server.engine.graph_runner import GraphRunner
from reference_server.engine.loading import LoadedModel, load_model
from reference_server.engine.rejection import DrawingProposer
from reference_server.engine.request import EngineInfo, EngineOutput, EngineRequest, EngineStats
from reference_server.engine.run_ahead import RunAhead
from reference_server.engine.sampler import SampledToken, Sampler
from reference_server.engine.scheduler import Scheduler, SchedulerConfig
from reference_server.engine.sequence import Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as SequenceOf

    from reference_server.engine.config import EngineConfig
    from reference_server.engine.step_plan import ScheduledSequence

_WATERMARK_SHARE = 0.01


def load_engine(config: EngineConfig) -> Engine:
    """Load the model and allocate its memory. Call ``prepare_threads()`` before this module is imported.

    Raises:
        EngineConfigError: A setting can't be met.
        ModelError: The model can't be loaded.
        UnsupportedQuantizationError, UnsupportedBackendError: A name is not built.
    """
    return Engine(config, load_model(config))


class Engine:
    """A loaded model that serves many sequences at once.

    The token that ends a sequence is part of its output: it is counted, as it was computed.
    """

    def __init__(self, config: EngineConfig, loaded: LoadedModel) -> None:
        self.info: EngineInfo = loaded.info
        self._scheduler = Scheduler(
            SchedulerConfig(
                max_num_seqs=config.max_num_seqs,
                max_num_batched_tokens=config.max_num_batched_tokens,
                max_model_len=loaded.info.max_model_len,
                enable_chunked_prefill=config.enable_chunked_prefill,
                long_prefill_token_threshold=config.long_prefill_token_threshold,
                policy=config.scheduling_policy,
                batching=config.batching,
                kv_allocation=config.kv_allocation,
                kv_cache=config.kv_cache,
                watermark_blocks=max(1, int(loaded.info.num_blocks * _WATERMARK_SHARE)),
            ),
            BlockManager(
                loaded.info.num_blocks,
                loaded.info.block_size,
                enable_prefix_caching=loaded.info.enable_prefix_caching,
            ),
            _make_drafting(loaded),
        )
        self._computing = _make_computing(loaded, self._scheduler.blocks)
        self._draft_counts = DraftCounts(loaded.info.num_speculative_tokens)
        self._sequences: dict[str, Sequence] = {}
        self._counters = dict.fromkeys(
            ("num_steps", "prompt_tokens", "prompt_tokens_cached", "generation_tokens", "padding_tokens"), 0
        )
        self._step_tokens = 0
        self._last_step_ns = 0

    @property
    def has_work(self) -> bool:
        """Whether a step would compute anything."""
        return self._scheduler.has_work

    @property
    def stats(self) -> EngineStats:
        """The state after the last step."""
        scheduler = self._scheduler
        return EngineStats(
            num_running=len(scheduler.running),
            num_waiting=len(scheduler.waiting),
            num_held=len(scheduler.held),
            num_blocks=scheduler.blocks.num_blocks,
            num_free_blocks=scheduler.blocks.num_free_blocks,
            num_preemptions=scheduler.num_preemptions,
            prefix_cache_queries=scheduler.num_prefix_queries,
            prefix_cache_hits=scheduler.num_prefix_hits,
            step_tokens=self._step_tokens,
            last_step_ns=self._last_step_ns,
            num_drafts=self._draft_counts.num_drafts,
            num_draft_tokens=self._draft_counts.num_draft_tokens,
            num_accepted_per_pos=tuple(self._draft_counts.num_accepted_per_pos),
            **self._counters,
        )

    def add(self, request: EngineRequest) -> None:
        """Queue a sequence.

        Raises:
            RequestTooLargeError: The prompt leaves no room for output.
            InvalidRequestError: The prompt is empty, a token id is unknown, or the id is live already.
        """
        self._check(request)
        sequence = Sequence(request)
        self._sequences[request.request_id] = sequence
        self._scheduler.add(sequence)

    def abort(self, request_id: str) -> EngineOutput | None:
        """End a sequence now and free its blocks. None if no such sequence is live."""
        sequence = self._sequences.pop(request_id, None)
        if sequence is None:
            return None
        self._scheduler.remove(sequence)
        return _output(sequence, finish_reason="abort")

    def reset_prefix_cache(self) -> None:
        """Compute every prompt anew from now on, as after a start."""
        self._scheduler.reset_prefix_cache()

    def step(self) -> list[EngineOutput]:
        """Compute one batch; outputs of the sequences that got a token. Empty without work."""
        begin_ns = time.monotonic_ns()
        scheduled = self._scheduler.schedule()
        if not scheduled:
            return []
        sampled = self._computing.compute(scheduled, self._scheduler.num_step_padding_tokens)
        self._last_step_ns = time.monotonic_ns()
        self._scheduler.observe(scheduled, self._last_step_ns - begin_ns)
        return self._postprocess(scheduled, sampled)

    def check_invariants(self) -> None:
        """Raise ``AssertionError`` if the state contradicts itself. For tests; call between steps."""
        self._scheduler.check_invariants()
        live = {*self._scheduler.running, *self._scheduler.waiting}
        assert live == set(self._sequences.values()), "scheduler and engine know different sequences"

    def _postprocess(
        self, scheduled: list[ScheduledSequence], sampled: dict[Sequence, list[SampledToken]]
    ) -> list[EngineOutput]:
        num_padding_tokens = self._scheduler.num_step_padding_tokens
        self._step_tokens = sum(item.num_scheduled_tokens for item in scheduled) + num_padding_tokens
        self._counters["padding_tokens"] += num_padding_tokens
        self._counters["num_steps"] += 1
        for item in scheduled:
            item.sequence.num_computed_tokens += item.num_own_tokens
        drafts = {item.sequence: item.draft for item in scheduled if item.draft}
        return [
            self._extend(s, tokens, drafts.get(s, ())) if s.sampling.max_tokens else self._end_unanswered(s)
            for s, tokens in sampled.items()
        ]

    def _extend(
        self, sequence: Sequence, sampled: list[SampledToken], draft: tuple[int, ...]
    ) -> EngineOutput:
        """Append tokens, up to one that ends the sequence."""
        is_first = not sequence.first_token_ns
        self._note_first_token(sequence)
        appended = []
        finish_reason, stop_reason = None, None
        for token in sampled:
            sequence.append(token.token_id)
            appended.append(token)
            finish_reason, stop_reason = self._end(sequence, token.token_id)
            if finish_reason is not None:
                break
        self._counters["generation_tokens"] += len(appended)
        self._scheduler.judge(sequence, [token.token_id for token in appended])
        if draft:
            self._note_draft(sequence, draft, appended)
        if finish_reason is not None:
            self._forget(sequence)
        output = _output(sequence, appended, finish_reason=finish_reason, stop_reason=stop_reason)
        return _with_prompt_scores(output, sequence) if is_first else output

    def _end_unanswered(self, sequence: Sequence) -> EngineOutput:
        """A sequence of which only the prompt was to be read."""
        self._note_prompt(sequence)
        self._forget(sequence)
        return _with_prompt_scores(_output(sequence, finish_reason="length"), sequence)

    def _forget(self, sequence: Sequence) -> None:
        self._scheduler.remove(sequence)
        del self._sequences[sequence.request_id]

    def _note_first_token(self, sequence: Sequence) -> None:
        if not sequence.first_token_ns:
            sequence.first_token_ns = self._last_step_ns
            self._note_prompt(sequence)

    def _note_prompt(self, sequence: Sequence) -> None:
        self._counters["prompt_tokens"] += sequence.num_prompt_tokens
        self._counters["prompt_tokens_cached"] += sequence.num_cached_tokens

    def _note_draft(self, sequence: Sequence, draft: tuple[int, ...], appended: list[SampledToken]) -> None:
        """Drafted tokens that became output are computed already; the last token of the output never is."""
        num_accepted = sum(guess == token.token_id for guess, token in zip(draft, appended, strict=False))
        self._draft_counts.count(len(draft), num_accepted)
        self._scheduler.advance(sequence, len(appended) - 1)

    def _end(self, sequence: Sequence, token_id: int) -> tuple[str | None, int | None]:
        """Why the sequence ends with this token, if it does: finish reason and stop token."""
        params = sequence.sampling
        if sequence.num_output_tokens >= params.min_tokens:
            if token_id in params.stop_token_ids:
                return "stop", token_id
            if token_id in self.info.eos_token_ids and not params.ignore_eos:
                return "stop", None
        if sequence.num_output_tokens >= params.max_tokens or sequence.num_tokens >= self.info.max_model_len:
            return "length", None
        return None, None

    def _check(self, request: EngineRequest) -> None:
        if request.request_id in self._sequences:
            raise InvalidRequestError(f"a request with id {request.request_id!r} is being served")
        if not request.prompt_token_ids:
            raise InvalidRequestError("the prompt is empty; give at least one token")
        if request.sampling.max_tokens < 0:
            raise InvalidRequestError(f"max_tokens is {request.sampling.max_tokens}; it must be at least 0")
        self._check_token_ids("prompt", request.prompt_token_ids)
        self._check_token_ids("logit_bias", request.sampling.logit_bias)
        self._check_token_ids("stop_token_ids", request.sampling.stop_token_ids)
        if len(request.prompt_token_ids) >= self.info.max_model_len:
            raise RequestTooLargeError(
                f"the prompt has {len(request.prompt_token_ids)} tokens, but prompt and output together may "
                f"have {self.info.max_model_len} (max_model_len); shorten the prompt"
            )

    def _check_token_ids(self, name: str, token_ids: Iterable[int]) -> None:
        unknown = [t for t in token_ids if not 0 <= t < self.info.vocab_size]
        if unknown:
            raise InvalidRequestError(
                f"{name} holds token id {unknown[0]}; the vocabulary has 0 to {self.info.vocab_size - 1}"
            )


def _make_drafting(loaded: LoadedModel) -> Drafting | None:
    if loaded.speculation is None or loaded.proposer is None:
        return None
    return Drafting(
        loaded.proposer,
        DraftsThatPay() if loaded.speculation.adaptive else WholeDrafts(),
        loaded.speculation.num_speculative_tokens,
        loaded.info.max_model_len,
    )


def _make_computing(loaded: LoadedModel, blocks: BlockManager) -> Computing:
    """On a CUDA device with an overlap of steps where the runner can.

    Without on a CPU, with drafts, in padded steps, and where each token computes all others again.
    """
    info, runner = loaded.info, loaded.runner
    goes_on = info.batching == "continuous" and info.kv_cache == "on" and loaded.speculation is None
    if isinstance(runner, GraphRunner) and goes_on:
        return RunAhead(runner, DeviceSampler(info.eos_token_ids), blocks, info.max_model_len)
    sampler = DeviceSampler if info.device == "cuda" else Sampler
    drawing = loaded.proposer if isinstance(loaded.proposer, DrawingProposer) else None
    return StepByStep(runner, sampler(info.eos_token_ids), info.block_size, drawing)


def _with_prompt_scores(output: EngineOutput, sequence: Sequence) -> EngineOutput:
    """An output that ends a prompt: what was expected of its tokens, if asked for."""
    if sequence.sampling.prompt_logprobs is None:
        return output
    return msgspec.structs.replace(output, prompt_logprobs=sequence.prompt_scores)


def _output(
    sequence: Sequence,
    appended: SequenceOf[SampledToken] = (),
    *,
    finish_reason: str | None = None,
    stop_reason: int | None = None,
) -> EngineOutput:
    return EngineOutput(
        request_id=sequence.request_id,
        token_ids=[token.token_id for token in appended],
        finish_reason=finish_reason,
        stop_reason=stop_reason,
        logprobs=[token.logprob for token in appended if token.logprob] or None,
        num_prompt_tokens=sequence.num_prompt_tokens,
        num_cached_tokens=sequence.num_cached_tokens,
        scheduled_ns=sequence.scheduled_ns,
        first_token_ns=sequence.first_token_ns,
        num_preemptions=sequence.num_preemptions,
    )
