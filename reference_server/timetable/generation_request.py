"""What a client may ask for: the fields of a chat or completion body that matter without a model."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from reference_server.timetable.words import count_message_tokens, count_prompt_tokens


class InvalidBodyError(ValueError):
    """The body asks for something impossible.

    Attributes:
        param: The field at fault, if one is.
    """

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class StreamOptions(msgspec.Struct, frozen=True):
    """OpenAI's ``stream_options`` and vLLM's addition to them."""

    include_usage: bool = False
    continuous_usage_stats: bool = False


class GenerationRequest(msgspec.Struct, frozen=True):
    """The body of ``/v1/chat/completions`` or ``/v1/completions``. Other fields are accepted and ignored."""

    model: str | None = None
    messages: list[dict[str, Any]] | None = None
    prompt: str | list[Any] | None = None
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    n: int | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    return_token_ids: bool | None = None
    timetable: dict[str, Any] | None = None
    vllm_xargs: dict[str, Any] | None = None

    @property
    def token_limit(self) -> int | None:
        """The newer of the two fields wins."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    @property
    def overrides(self) -> dict[str, Any]:
        """Fields of the script for this request alone."""
        within = (self.vllm_xargs or {}).get("timetable")
        if within is not None and not isinstance(within, dict):
            raise InvalidBodyError("vllm_xargs.timetable is no object.", "vllm_xargs")
        return {**(within or {}), **(self.timetable or {})}

    @property
    def num_prompt_tokens(self) -> int:
        """Words, or token ids."""
        if self.messages is not None:
            return count_message_tokens(self.messages)
        return count_prompt_tokens(self.prompt)


def parse_generation(body: bytes, *, chat: bool) -> GenerationRequest:
    """The body, checked.

    Raises:
        InvalidBodyError: Not JSON, a field of the wrong type, no prompt, or more than one answer asked for.
    """
    try:
        request = msgspec.json.decode(body, type=GenerationRequest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidBodyError(str(error)[:200]) from error
    _check_prompt(request, chat=chat)
    if request.n not in (None, 1):
        raise InvalidBodyError("n must be 1: the timetable server gives one answer.", "n")
    if request.stream_options is not None and not request.stream:
        raise InvalidBodyError("stream_options needs stream: true.", "stream_options")
    return request


def _check_prompt(request: GenerationRequest, *, chat: bool) -> None:
    if chat:
        if not request.messages:
            raise InvalidBodyError("messages is missing or empty.", "messages")
        return
    if not request.prompt:
        raise InvalidBodyError("prompt is missing or empty.", "prompt")
    if isinstance(request.prompt, list) and not all(isinstance(id_, int) for id_ in request.prompt):
        raise InvalidBodyError("prompt must be one text or one list of token ids.", "prompt")
