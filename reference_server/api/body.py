"""Read a request body within bounds of size and time, and turn it into a checked request."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from reference_server.api.errors import ApiError, bad_request, from_validation

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_PAUSE_S = 10.0
DISCARD_S = 1.0
DISCARD_PAUSE_S = 0.2
CLOSE = {"connection": "close"}

T = TypeVar("T", bound=BaseModel)


class ClientGoneError(Exception):
    """The client left; nobody waits for a reply."""


async def read_request(request: Request, model: type[T]) -> T:
    """The body of ``request`` as a ``model``; a field that is null counts as absent.

    Raises:
        ApiError: 400, 408, 413 or 415, saying what is wrong.
        ClientGoneError: The client left before its body was complete.
    """
    return parse(await read_body(request), model)


async def read_body(request: Request) -> bytes:
    """The whole body, at most ``MAX_BODY_BYTES`` of it, with no pause longer than ``MAX_PAUSE_S``."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise ApiError(415, "The body is compressed; send it without content-encoding.", headers=CLOSE)
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > MAX_BODY_BYTES:
        raise await _too_large(request)
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        chunk, more = await _next_chunk(request)
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise await _too_large(request)
    return b"".join(chunks)


def parse(body: bytes, model: type[T]) -> T:
    """Decode and check a JSON object."""
    try:
        fields = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise bad_request(f"The body is not valid JSON: {error}.") from None
    if not isinstance(fields, dict):
        raise bad_request("The body must be a JSON object.")
    try:
        return model.model_validate({name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        raise from_validation(error) from None


async def _next_chunk(request: Request) -> tuple[bytes, bool]:
    try:
        async with asyncio.timeout(MAX_PAUSE_S):
            message = await request.receive()
    except TimeoutError:
        raise ApiError(
            408, f"No data for {MAX_PAUSE_S:g} s before the body was complete.", headers=CLOSE
        ) from None
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message.get("body", b""), message.get("more_body", False)


async def _too_large(request: Request) -> ApiError:
    if "expect" not in request.headers:  # one who asks first has sent nothing yet
        await _discard(request)
    return ApiError(413, f"The body is larger than {MAX_BODY_BYTES} bytes; send less.", headers=CLOSE)


async def _discard(request: Request) -> None:
    """Drop what is still coming, for a moment: closing on unread data would destroy the reply on its way."""
    more = True
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_S):
            while more:
                message = await asyncio.wait_for(request.receive(), DISCARD_PAUSE_S)
                more = message.get("more_body", False)
