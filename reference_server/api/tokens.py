"""``POST /tokenize`` and ``POST /detokenize``: exact prompt lengths for clients."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from reference_server.api.body import parse, read_body, read_request
from reference_server.api.context import Context, context_of
from reference_server.api.frames import encode as encode_json
from reference_server.api.openapi import body_of
from reference_server.api.prompts import LONG_TEXT_CHARS, chat_prompt, check_prompt, encode
from reference_server.api.protocol.extra_fields import check_extra_fields
from reference_server.api.protocol.tokens import DetokenizeRequest, TokenizeChat, TokenizePrompt

router = APIRouter()


@router.post("/tokenize", openapi_extra=body_of(TokenizePrompt, TokenizeChat))
async def tokenize(request: Request) -> Response:
    """Token ids of a prompt or of a conversation."""
    context = context_of(request)
    body = await read_body(request)
    fields: TokenizeChat | TokenizePrompt
    if b'"messages"' in body:
        fields = parse(body, TokenizeChat)
        token_ids = await chat_prompt(context, fields)
    else:
        fields = parse(body, TokenizePrompt)
        token_ids = await encode(context, fields.prompt, add_special_tokens=fields.add_special_tokens)
    check_extra_fields(fields.model_extra)
    context.require_model(fields.model)
    strings = [context.tokenizer.token_text(token_id) for token_id in token_ids]
    return _json(
        {
            "count": len(token_ids),
            "max_model_len": context.info.max_model_len,
            "tokens": token_ids,
            "token_strs": strings if fields.return_token_strs else None,
        }
    )


@router.post("/detokenize", openapi_extra=body_of(DetokenizeRequest))
async def detokenize(request: Request) -> Response:
    """The text of token ids, special tokens included."""
    context = context_of(request)
    fields = await read_request(request, DetokenizeRequest)
    check_extra_fields(fields.model_extra)
    context.require_model(fields.model)
    if fields.tokens:
        check_prompt(context, fields.tokens, "tokens")
    return _json({"prompt": await _decode(context, fields.tokens)})


async def _decode(context: Context, token_ids: list[int]) -> str:
    def work() -> str:
        return context.tokenizer.decode(token_ids, skip_special_tokens=False)

    return work() if len(token_ids) < LONG_TEXT_CHARS else await context.in_text_thread(work)


def _json(content: dict[str, Any]) -> Response:
    return Response(encode_json(content), media_type="application/json")
