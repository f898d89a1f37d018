"""From the fields of a request to what the engine takes."""

from __future__ import annotations

import dataclasses
import secrets

from reference_server.api.errors import bad_request
from reference_server.api.protocol.generation import INT64, GenerationFields
from reference_server.engine.request import EngineInfo, SamplingParams


@dataclasses.dataclass(frozen=True, slots=True)
class OutputLimit:
    """How many output tokens a request wants.

    Attributes:
        asked: What it says; None if nothing.
        field: The field that says it.
        default: Taken if it says nothing; None takes all that fit.
    """

    asked: int | None
    field: str = "max_tokens"
    default: int | None = None


def make_sampling(
    fields: GenerationFields,
    info: EngineInfo,
    *,
    max_tokens: int,
    logprobs: int | None,
    prompt_logprobs: int | None,
    choice_index: int,
) -> SamplingParams:
    """Sampling parameters of one choice. Choice i of a seeded request has the seed + i.

    Raises:
        ApiError: 400, a token id is outside the vocabulary or the fields contradict each other.
    """
    for token_id in fields.logit_bias:
        if not 0 <= token_id < info.vocab_size:
            raise bad_request(
                f"logit_bias holds token id {token_id}; the vocabulary has 0 to {info.vocab_size - 1}.",
                "logit_bias",
            )
    if fields.min_tokens > max_tokens:
        raise bad_request(f"min_tokens is greater than max_tokens, {max_tokens}.", "min_tokens")
    return SamplingParams(
        max_tokens=max_tokens,
        min_tokens=fields.min_tokens,
        temperature=fields.temperature,
        top_k=max(0, min(fields.top_k, info.vocab_size)),
        top_p=fields.top_p,
        min_p=fields.min_p,
        presence_penalty=fields.presence_penalty,
        frequency_penalty=fields.frequency_penalty,
        repetition_penalty=fields.repetition_penalty,
        logit_bias=fields.logit_bias,
        seed=_choice_seed(fields.seed, choice_index),
        # A token outside the vocabulary never comes, so it never stops anything.
        stop_token_ids=tuple(token_id for token_id in fields.stop_token_ids if token_id < info.vocab_size),
        ignore_eos=fields.ignore_eos,
        logprobs=logprobs,
        prompt_logprobs=prompt_logprobs,
    )


def resolve_max_tokens(limit: OutputLimit, num_prompt_tokens: int, max_model_len: int) -> int:
    """Output tokens of a sequence: as asked, else the default or what fits of it.

    Raises:
        ApiError: 400, prompt and output don't fit into ``max_model_len``.
    """
    room = max_model_len - num_prompt_tokens
    if room < 1:
        raise bad_request(
            f"This model's maximum context length is {max_model_len} tokens, but the prompt has "
            f"{num_prompt_tokens}, which leaves no room for output; shorten the prompt.",
            "input_tokens",
        )
    if limit.asked is None:
        return room if limit.default is None else min(room, limit.default)
    if limit.asked > room:
        raise bad_request(
            f"This model's maximum context length is {max_model_len} tokens, but {limit.asked} output tokens "
            f"were asked for and the prompt has {num_prompt_tokens}; ask for at most {room}.",
            limit.field,
        )
    return limit.asked


def _choice_seed(seed: int | None, choice_index: int) -> int:
    if seed is None:
        return secrets.randbits(63)
    return (seed + choice_index + INT64) % (2 * INT64) - INT64
