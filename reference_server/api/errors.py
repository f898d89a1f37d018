"""Errors leave as ``{"error": {message, type, param, code}}`` and show no part of the inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from fastapi.responses import Response
from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI
    from pydantic import ValidationError
    from starlette.requests import Request

MAX_MESSAGE_CHARS = 2000
MAX_FAULTS_SHOWN = 5
ERROR_TYPES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    404: "NotFoundError",
    405: "MethodNotAllowedError",
    408: "RequestTimeoutError",
    413: "RequestTooLargeError",
    415: "UnsupportedMediaTypeError",
    500: "InternalServerError",
    501: "NotImplementedError",
    503: "ServiceUnavailableError",
}


class ApiError(Exception):
    """A request that can't be served.

    Args:
        status: HTTP status.
        message: For the client: what is wrong and what to do about it.
        param: Name of the request field at fault.
        headers: Sent along.
    """

    def __init__(
        self, status: int, message: str, *, param: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.headers = dict(headers or {})

    def body(self) -> dict[str, Any]:
        """The error object of the reply."""
        return error_body(self.status, self.message, self.param)

    def response(self) -> Response:
        """The whole reply."""
        content = msgspec.json.encode(self.body())
        return Response(content, self.status, self.headers, media_type="application/json")


def error_body(status: int, message: str, param: str | None = None) -> dict[str, Any]:
    """The envelope that OpenAI's clients read."""
    kind = ERROR_TYPES.get(status, "APIError")
    return {"error": {"message": _shorten(message), "type": kind, "param": param, "code": status}}


def bad_request(message: str, param: str | None = None) -> ApiError:
    """A 400 that names the field."""
    return ApiError(400, message, param=param)


def from_validation(error: ValidationError) -> ApiError:
    """A 400 with the first few faults of a request, none of which repeats the input."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{_path(fault['loc'])}: {fault['msg']}" for fault in faults[:MAX_FAULTS_SHOWN]]
    if len(faults) > MAX_FAULTS_SHOWN:
        lines.append(f"and {len(faults) - MAX_FAULTS_SHOWN} more")
    field = str(faults[0]["loc"][0]) if faults[0]["loc"] else None
    return bad_request("; ".join(lines), field)


def install_handlers(app: FastAPI) -> None:
    """Put the envelope around the framework's own errors as well."""

    async def on_api_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)
        return error.response()

    async def on_http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        message = _FRAMEWORK_MESSAGES.get(error.status_code, str(error.detail))
        path = f"{request.method} {_shorten(request.url.path, 200)}"
        return ApiError(error.status_code, message.format(path=path), headers=error.headers).response()

    async def on_fault(_: Request, error: Exception) -> Response:
        del error  # the server's log has it
        return ApiError(500, "The server failed on this request; its log says why.").response()

    app.add_exception_handler(ApiError, on_api_error)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(Exception, on_fault)


_FRAMEWORK_MESSAGES = {
    404: "{path}: there is no such path here; GET /openapi.json lists those that exist.",
    405: "{path}: this path does not take that method.",
}


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(_shorten(str(part), 64) for part in location) or "body"


def _shorten(text: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
