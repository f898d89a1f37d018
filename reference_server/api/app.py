"""The ASGI app: all endpoint families, the error envelope, the key, the HTTP metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response

from reference_server.api import chat, completions, development, health, models, tokens
from reference_server.api.auth import AuthMiddleware
from reference_server.api.body import ClientGoneError
from reference_server.api.errors import install_handlers
from reference_server.api.http_metrics import HttpMetricsMiddleware

if TYPE_CHECKING:
    from reference_server.api.context import Context

CLIENT_CLOSED_REQUEST = 499


def create_app(context: Context, api_key: str | None = None, *, dev_mode: bool = False) -> FastAPI:
    """An app around a started engine.

    Args:
        context: What the endpoints share.
        api_key: What clients must send; None asks for nothing.
        dev_mode: With the endpoints for development.
    """
    app = FastAPI(title="tokenpace reference server", version=context.version)
    app.state.context = context
    for family in (chat, completions, models, tokens, health):
        app.include_router(family.router)
    if dev_mode:
        app.include_router(development.router)
    install_handlers(app)
    app.add_exception_handler(ClientGoneError, _on_client_gone)
    if api_key is not None:
        app.add_middleware(AuthMiddleware, api_key=api_key)
    app.add_middleware(HttpMetricsMiddleware, metrics=context.metrics.http)
    return app


async def _on_client_gone(_: Request, error: Exception) -> Response:
    del error
    return Response(status_code=CLIENT_CLOSED_REQUEST)
