"""``/health``, ``/ping``, ``/version``, ``/load``, ``/metrics``: for probes and dashboards, without a key."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from reference_server.api.context import context_of
from reference_server.api.errors import ApiError
from reference_server.api.frames import encode
from reference_server.engine.client import EngineDeadError

router = APIRouter()

PING_TIMEOUT_S = 10.0


@router.get("/health")
async def health(request: Request) -> Response:
    """200 if the engine's loop answers within 10 s; else, or while the server is being stopped, 503."""
    context = context_of(request)
    context.admission.check_open()
    try:
        await context.client.ping(PING_TIMEOUT_S)
    except (EngineDeadError, TimeoutError) as error:
        raise ApiError(503, f"The engine does not answer: {error}") from error
    return Response()


@router.get("/ping")
async def ping(request: Request) -> Response:
    """The same as ``/health``."""
    return await health(request)


@router.post("/ping")
async def post_ping(request: Request) -> Response:
    """The same as ``/health``."""
    return await health(request)


@router.get("/version")
async def version(request: Request) -> Response:
    """The server's version."""
    return _json({"version": context_of(request).version})


@router.get("/load")
async def load(request: Request) -> Response:
    """Requests in flight."""
    return _json({"server_load": context_of(request).admission.num_requests})


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Prometheus' text exposition."""
    return Response(context_of(request).metrics.render(), media_type=CONTENT_TYPE_LATEST)


def _json(content: dict[str, object]) -> Response:
    return Response(encode(content), media_type="application/json")
