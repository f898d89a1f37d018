"""``GET /v1/models`` and ``GET /v1/models/{name}``."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from reference_server.api.context import Context, context_of
from reference_server.api.frames import encode

router = APIRouter()


@router.get("/v1/models")
async def list_models(request: Request) -> Response:
    """The model under each of its names, with the length it can take."""
    context = context_of(request)
    cards = [_card(context, name) for name in context.model_names]
    return Response(encode({"object": "list", "data": cards}), media_type="application/json")


@router.get("/v1/models/{name:path}")
async def get_model(request: Request, name: str) -> Response:
    """One of them."""
    context = context_of(request)
    card = _card(context, context.require_model(name))
    return Response(encode(card), media_type="application/json")


def _card(context: Context, name: str) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": context.created,
        "owned_by": "vllm",
        "root": context.model_path,
        "parent": None,
        "max_model_len": context.info.max_model_len,
        "permission": [_permission(context, name)],
    }


def _permission(context: Context, name: str) -> dict[str, Any]:
    return {
        "id": f"modelperm-{name}",
        "object": "model_permission",
        "created": context.created,
        "allow_create_engine": False,
        "allow_sampling": True,
        "allow_logprobs": True,
        "allow_search_indices": False,
        "allow_view": True,
        "allow_fine_tuning": False,
        "organization": "*",
        "group": None,
        "is_blocking": False,
    }
