"""``POST /v1/chat/completions``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response

from reference_server.api.answer import Answer
from reference_server.api.body import read_request
from reference_server.api.context import context_of
from reference_server.api.frames import CHAT_CHUNK
from reference_server.api.job import Endpoint, Job
from reference_server.api.logprobs import chat_logprobs
from reference_server.api.openapi import body_of
from reference_server.api.prompts import chat_prompt
from reference_server.api.protocol.chat import ChatRequest
from reference_server.api.protocol.extra_fields import check_extra_fields
from reference_server.api.sampling import OutputLimit

if TYPE_CHECKING:
    from reference_server.api.collected import CollectedChoice

router = APIRouter()


def _render_choice(choice: CollectedChoice) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": choice.text, "refusal": None}}


ENDPOINT = Endpoint(
    "chatcmpl", "chat.completion", CHAT_CHUNK, _render_choice, chat_logprobs, has_one_prompt=True
)


@router.post("/v1/chat/completions", openapi_extra=body_of(ChatRequest))
async def create_chat_completion(request: Request) -> Response:
    """Continue a conversation, as a whole answer or a stream of chunks."""
    arrival_ns = time.monotonic_ns()
    context = context_of(request)
    fields = await read_request(request, ChatRequest)
    check_extra_fields(fields.model_extra)

    async def prompts() -> list[list[int]]:
        return [await chat_prompt(context, fields)]

    limit = OutputLimit(fields.max_tokens)
    if fields.max_completion_tokens is not None:
        limit = OutputLimit(fields.max_completion_tokens, "max_completion_tokens")
    job = Job(
        fields=fields,
        num_prompts=1,
        prompts=prompts,
        prompt_field="messages",
        output_limit=limit,
        logprobs=fields.top_logprobs if fields.logprobs else None,
        arrival_ns=arrival_ns,
    )
    return await Answer(ENDPOINT, context, request, job).respond()
