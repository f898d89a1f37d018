"""From a request to token ids: chat template, tokenizer, truncation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.api.errors import bad_request
from reference_server.text.chat_template import ChatTemplateError

if TYPE_CHECKING:
    from reference_server.api.context import Context
    from reference_server.api.protocol.chat import ChatTemplateFields, Message
    from reference_server.api.protocol.generation import GenerationFields

LONG_TEXT_CHARS = 4096
RESERVED = {"self", "messages", "add_generation_prompt", "continue_final_message"}


async def chat_prompt(context: Context, fields: ChatTemplateFields) -> list[int]:
    """The conversation as token ids.

    Raises:
        ApiError: 400, the template does not allow this conversation.
    """
    text = render_chat(context, fields)
    return await encode(context, text, add_special_tokens=fields.add_special_tokens)


def render_chat(context: Context, fields: ChatTemplateFields) -> str:
    """The conversation as text."""
    if context.chat_template is None:
        raise bad_request("This model has no chat template; use /v1/completions.", "messages")
    kwargs = dict(fields.chat_template_kwargs)
    if taken := RESERVED & kwargs.keys():
        raise bad_request(f"chat_template_kwargs can't hold {min(taken)}.", "chat_template_kwargs")
    if fields.reasoning_effort is not None:
        kwargs.setdefault("reasoning_effort", fields.reasoning_effort)
    messages = [_for_template(message, position) for position, message in enumerate(fields.messages)]
    try:
        return context.chat_template.render(
            messages,
            add_generation_prompt=fields.add_generation_prompt,
            continue_final_message=fields.continue_final_message,
            **kwargs,
        )
    except ChatTemplateError as error:
        raise bad_request(f"The chat template refused the messages: {error}", "messages") from error


def _for_template(message: Message, position: int) -> dict[str, Any]:
    """The message as templates take it: beside an assistant's tool calls null is an empty text."""
    fields = message.model_dump(exclude_unset=True)
    if message.content is None:
        if message.role != "assistant" or not fields.get("tool_calls"):
            raise bad_request(
                f"messages.{position}.content is null or missing; give a text or a list of text parts "
                "(only a message of the assistant with tool_calls needs none).",
                "messages",
            )
        fields["content"] = ""
    return fields


async def encode(context: Context, text: str, *, add_special_tokens: bool) -> list[int]:
    """``text`` as token ids; a long one is done in a thread."""

    def work() -> list[int]:
        return context.tokenizer.encode(text, add_special_tokens=add_special_tokens)

    return work() if len(text) < LONG_TEXT_CHARS else await context.in_text_thread(work)


def check_prompt(context: Context, token_ids: list[int], param: str) -> None:
    """Refuse an empty prompt and unknown ids."""
    if not token_ids:
        raise bad_request("The prompt is empty; give at least one token.", param)
    largest = max(token_ids)
    if largest >= context.info.vocab_size:
        raise bad_request(
            f"The prompt holds token id {largest}; the vocabulary has 0 to {context.info.vocab_size - 1}.",
            param,
        )


def truncate(context: Context, token_ids: list[int], fields: GenerationFields) -> list[int]:
    """The prompt, cut at the side asked for to ``truncate_prompt_tokens``; -1: to what the model allows."""
    limit = fields.truncate_prompt_tokens
    if limit is None:
        return token_ids
    keep = context.info.max_model_len - 1 if limit == -1 else limit
    if fields.truncation_side == "right":
        return token_ids[:keep]
    return token_ids[max(0, len(token_ids) - keep) :]
