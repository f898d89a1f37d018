"""The body of ``POST /v1/chat/completions``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from reference_server.api.protocol.generation import MAX_LOGPROBS, GenerationFields, require


class Message(BaseModel):
    """A turn of the conversation; what else it holds is passed to the chat template."""

    model_config = ConfigDict(extra="allow")

    role: str
    content: str | list[dict[str, Any]] | None = None


class ChatTemplateFields(BaseModel):
    """How messages become a prompt."""

    messages: list[Message] = Field(min_length=1)
    add_generation_prompt: bool = True
    continue_final_message: bool = False
    add_special_tokens: bool = False
    chat_template_kwargs: dict[str, Any] = {}
    reasoning_effort: str | None = None

    @field_validator("continue_final_message")
    @classmethod
    def _check_prompt_end(cls, value: object, info: ValidationInfo) -> object:
        return require(value, info, add_generation_prompt=False)


class ChatRequest(ChatTemplateFields, GenerationFields):
    """A conversation to continue."""

    max_completion_tokens: int | None = Field(default=None, ge=1)
    logprobs: bool = False
    top_logprobs: int = Field(default=0, ge=0, le=MAX_LOGPROBS)

    @field_validator("top_logprobs")
    @classmethod
    def _check_logprobs(cls, value: object, info: ValidationInfo) -> object:
        return require(value, info, logprobs=True)
