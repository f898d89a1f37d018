"""``POST /v1/completions``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response

from reference_server.api.answer import Answer
from reference_server.api.body import read_request
from reference_server.api.context import context_of
from reference_server.api.frames import COMPLETION_CHUNK
from reference_server.api.job import Endpoint, Job
from reference_server.api.logprobs import completion_logprobs
from reference_server.api.openapi import body_of
from reference_server.api.prompts import encode
from reference_server.api.protocol.completion import DEFAULT_MAX_TOKENS, CompletionRequest
from reference_server.api.protocol.extra_fields import check_extra_fields
from reference_server.api.sampling import OutputLimit

if TYPE_CHECKING:
    from reference_server.api.collected import CollectedChoice

router = APIRouter()


def _render_choice(choice: CollectedChoice) -> dict[str, Any]:
    return {"text": choice.text}


ENDPOINT = Endpoint("cmpl", "text_completion", COMPLETION_CHUNK, _render_choice, completion_logprobs)


@router.post("/v1/completions", openapi_extra=body_of(CompletionRequest))
async def create_completion(request: Request) -> Response:
    """Continue one or more prompts; n choices for each, in the order of the prompts."""
    arrival_ns = time.monotonic_ns()
    context = context_of(request)
    fields = await read_request(request, CompletionRequest)
    check_extra_fields(fields.model_extra)
    given = fields.prompts

    async def prompts() -> list[list[int]]:
        special = fields.add_special_tokens
        return [
            await encode(context, prompt, add_special_tokens=special) if isinstance(prompt, str) else prompt
            for prompt in given
        ]

    job = Job(
        fields=fields,
        num_prompts=len(given),
        prompts=prompts,
        prompt_field="prompt",
        output_limit=OutputLimit(fields.max_tokens, default=DEFAULT_MAX_TOKENS),
        logprobs=fields.logprobs,
        arrival_ns=arrival_ns,
    )
    return await Answer(ENDPOINT, context, request, job).respond()
