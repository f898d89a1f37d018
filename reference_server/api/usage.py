"""Token counts of a request: the prompt once, all its choices."""

from __future__ import annotations

import msgspec


class PromptTokensDetails(msgspec.Struct, frozen=True):
    """Of the prompt's tokens, those that came from the prefix cache."""

    cached_tokens: int


class Usage(msgspec.Struct, frozen=True):
    """OpenAI's ``usage``."""

    prompt_tokens: int
    total_tokens: int
    completion_tokens: int
    prompt_tokens_details: PromptTokensDetails


def make_usage(prompt_tokens: int, completion_tokens: int, cached_tokens: int) -> Usage:
    """Usage from its parts."""
    return Usage(
        prompt_tokens=prompt_tokens,
        total_tokens=prompt_tokens + completion_tokens,
        completion_tokens=completion_tokens,
        prompt_tokens_details=PromptTokensDetails(cached_tokens),
    )
