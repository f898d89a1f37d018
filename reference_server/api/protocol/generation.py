"""The fields that chat and text completions share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

MAX_CHOICES = 128
MAX_STOP_STRINGS = 64
MAX_LOGPROBS = 20
MAX_BIASED_TOKENS = 4096
INT64 = 2**63
MAX_TOKEN_ID = 2**31 - 1

StopString = Annotated[str, Field(min_length=1, max_length=1024)]
TokenId = Annotated[int, Field(ge=0, le=MAX_TOKEN_ID)]


class StreamOptions(BaseModel):
    """What a stream carries besides its chunks."""

    model_config = ConfigDict(extra="allow")

    include_usage: bool = False
    continuous_usage_stats: bool = False


class GenerationFields(BaseModel):
    """How to generate, how much, and in which form to answer."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)

    model: str | None = None
    n: int = Field(default=1, ge=1, le=MAX_CHOICES)
    max_tokens: int | None = Field(default=None, ge=1)
    min_tokens: int = Field(default=0, ge=0)
    temperature: float = Field(default=1.0, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=0, ge=-1)
    min_p: float = Field(default=0.0, ge=0, le=1)
    presence_penalty: float = Field(default=0.0, ge=-2, le=2)
    frequency_penalty: float = Field(default=0.0, ge=-2, le=2)
    repetition_penalty: float = Field(default=1.0, gt=0)
    logit_bias: dict[int, Annotated[float, Field(ge=-100, le=100)]] = Field(
        default={}, max_length=MAX_BIASED_TOKENS
    )
    seed: int | None = Field(default=None, ge=-INT64, lt=INT64)
    stop: StopString | Annotated[list[StopString], Field(max_length=MAX_STOP_STRINGS)] = []
    stop_token_ids: list[TokenId] = []
    include_stop_str_in_output: bool = False
    ignore_eos: bool = False
    skip_special_tokens: bool = True
    truncate_prompt_tokens: int | None = Field(default=None, ge=-1)
    truncation_side: Literal["left", "right"] = "left"
    stream: bool = False
    stream_options: StreamOptions | None = None
    prompt_logprobs: int | None = Field(default=None, ge=0, le=MAX_LOGPROBS)
    priority: int = Field(default=0, ge=-INT64, lt=INT64)
    cache_salt: str | None = Field(default=None, min_length=1, max_length=256)
    request_id: str | None = Field(default=None, max_length=256)
    return_token_ids: bool = False
    return_tokens_as_token_ids: bool = False

    @property
    def stop_strings(self) -> list[str]:
        """The stop strings as a list."""
        return [self.stop] if isinstance(self.stop, str) else self.stop

    @field_validator("stream_options")
    @classmethod
    def _check_stream(cls, value: object, info: ValidationInfo) -> object:
        return require(value, info, stream=True)

    @field_validator("prompt_logprobs")
    @classmethod
    def _check_whole(cls, value: object, info: ValidationInfo) -> object:
        if value is not None and info.data.get("stream"):
            raise PydanticCustomError("needs", "needs stream: false; echo with logprobs may be streamed")
        return value


def require(value: object, info: ValidationInfo, **needed: object) -> object:
    """``value``, if it is falsy or the fields before it have the ``needed`` values."""
    for name, wanted in needed.items():
        if value and info.data.get(name) is not wanted:
            raise PydanticCustomError("needs", f"needs {name}: {str(wanted).lower()}")
    return value
