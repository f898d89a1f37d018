"""``POST /v1/completions``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response

from reference_server.api.answer import Answer
from reference_server.api.body import read_request
from reference_server.api.context import context_of
from reference_server.api.errors import bad_request
from reference_server.api.frames import COMPLETION_CHUNK
from reference_server.api.job import Endpoint, Job
from reference_server.api.logprobs import completion_logprobs
from reference_server.api.openapi import body_of
from reference_server.api.prompts import encode
from reference_server.api.protocol.completion import DEFAULT_MAX_TOKENS, CompletionRequest
from reference_server.api.protocol.extra_fields import check_extra_fields
from reference_server.api.sampling import OutputLimit
from reference_server.text.tokenizer import well_formed

if TYPE_CHECKING:
    from reference_server.api.collected import CollectedChoice

router = APIRouter()


def _render_choice(choice: CollectedChoice) -> dict[str, Any]:
    return {"text": choice.text}


def _text_of(prompt: str | list[int]) -> str | None:
    return well_formed(prompt) if isinstance(prompt, str) else None


ENDPOINT = Endpoint("cmpl", "text_completion", COMPLETION_CHUNK, _render_choice, completion_logprobs)


@router.post("/v1/completions", openapi_extra=body_of(CompletionRequest))
async def create_completion(request: Request) -> Response:
    """Continue one or more prompts; n choices for each, in the order of the prompts."""
    arrival_ns = time.monotonic_ns()
    context = context_of(request)
    fields = await read_request(request, CompletionRequest)
    check_extra_fields(fields.model_extra)
    if fields.max_tokens == 0 and not fields.echo:
        raise bad_request("max_tokens: must be at least 1, or 0 with echo: true", "max_tokens")
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
        echoed=[_text_of(prompt) for prompt in given] if fields.echo else None,
    )
    return await Answer(ENDPOINT, context, request, job).respond()
