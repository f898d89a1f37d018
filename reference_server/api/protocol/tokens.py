"""The bodies of ``POST /tokenize`` and ``POST /detokenize``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from reference_server.api.protocol.chat import ChatTemplateFields
from reference_server.api.protocol.generation import TokenId


class TokenizePrompt(BaseModel):
    """A text to turn into token ids."""

    model_config = ConfigDict(extra="allow")

    model: str | None = None
    prompt: str
    add_special_tokens: bool = True
    return_token_strs: bool = False


class TokenizeChat(ChatTemplateFields):
    """A conversation to turn into token ids."""

    model_config = ConfigDict(extra="allow")

    model: str | None = None
    return_token_strs: bool = False


class DetokenizeRequest(BaseModel):
    """Token ids to turn into text."""

    model_config = ConfigDict(extra="allow")

    model: str | None = None
    tokens: list[TokenId]
