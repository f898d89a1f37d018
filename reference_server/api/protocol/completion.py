"""The body of ``POST /v1/completions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from reference_server.api.protocol.generation import MAX_LOGPROBS, MAX_TOKEN_ID, GenerationFields

if TYPE_CHECKING:
    from typing_extensions import TypeIs

MAX_PROMPTS = 1024
DEFAULT_MAX_TOKENS = 16


class CompletionRequest(GenerationFields):
    """One or more prompts to continue, as text or as token ids.

    ``prompt`` is a string, a list of token ids, or a list of either.
    ``max_tokens`` may be 0 with ``echo``: the prompt is only read.
    """

    prompt: Any
    max_tokens: int | None = Field(default=None, ge=0)
    echo: bool = False
    logprobs: int | None = Field(default=None, ge=0, le=MAX_LOGPROBS)
    add_special_tokens: bool = True

    @property
    def prompts(self) -> list[str | list[int]]:
        """The prompts one by one, in order."""
        return cast("list[str | list[int]]", self.prompt if _is_batch(self.prompt) else [self.prompt])

    @field_validator("prompt")
    @classmethod
    def _check_prompt(cls, value: object) -> object:
        batch = value if _is_batch(value) else [value]
        if not batch or not all(_is_prompt(prompt) for prompt in batch):
            raise PydanticCustomError(
                "prompt", "must be a non-empty string, a list of token ids, or a list of either"
            )
        if len(batch) > MAX_PROMPTS:
            raise PydanticCustomError("prompt", f"holds more than {MAX_PROMPTS} prompts")
        return value


def _is_batch(value: object) -> TypeIs[list[object]]:
    return isinstance(value, list) and not (value and type(value[0]) is int)


def _is_prompt(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(type(item) is int and 0 <= item <= MAX_TOKEN_ID for item in value)
    return isinstance(value, str) and bool(value)
