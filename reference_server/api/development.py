"""``/reset_prefix_cache``: for development and measurements, absent without ``server_dev_mode``."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from reference_server.api.context import context_of
from reference_server.api.errors import ApiError
from reference_server.engine.client import EngineDeadError

router = APIRouter()

TIMEOUT_S = 30.0


@router.post("/reset_prefix_cache")
async def reset_prefix_cache(request: Request) -> Response:
    """Compute the prompts of all later requests anew. Returns when the engine has done so."""
    try:
        await context_of(request).client.reset_prefix_cache(TIMEOUT_S)
    except (EngineDeadError, TimeoutError) as error:
        raise ApiError(503, f"The engine does not answer: {error}") from error
    return Response()
