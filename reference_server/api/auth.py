"""The API key: asked for under ``/v1`` and by what changes the server; probes and dashboards need none."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from reference_server.api.errors import ApiError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_GUARDED = frozenset({"/v1", "/reset_prefix_cache"})


class AuthMiddleware:
    """Plain ASGI.

    Args:
        app: What is guarded.
        api_key: The one key.
    """

    def __init__(self, app: ASGIApp, api_key: str) -> None:
        self._app = app
        self._digest = _digest(api_key)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what carries the key or needs none."""
        if self._needs_key(scope) and not self._has_key(scope):
            message = "Missing or wrong API key; send it as 'authorization: Bearer KEY'."
            response = ApiError(401, message, headers={"www-authenticate": "Bearer"}).response()
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)

    @staticmethod
    def _needs_key(scope: Scope) -> bool:
        if scope["type"] != "http" or scope["method"] == "OPTIONS":
            return False
        path: str = scope["path"].removeprefix(scope.get("root_path", ""))
        return path in _GUARDED or path.startswith("/v1/")

    def _has_key(self, scope: Scope) -> bool:
        header: str = Headers(scope=scope).get("authorization", "")
        scheme, _, key = header.partition(" ")
        # Digests of equal length: the comparison tells nothing by its time, not even the key's length.
        return hmac.compare_digest(_digest(key.strip()), self._digest) and scheme.lower() == "bearer"


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
