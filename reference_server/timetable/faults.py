"""What can go wrong with an answer, by name.

A fault strikes a share of the requests (``faults: {"reset": 0.1}``) or, with share 1, every one.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

FaultName = Literal[
    "http_429",
    "http_500",
    "http_503",
    "error_object",
    "html",
    "empty_body",
    "stream_error",
    "cut",
    "reset",
    "stall",
    "slow_headers",
    "close",
]


class CannedReply(msgspec.Struct, frozen=True):
    """A whole reply sent in place of the answer.

    Attributes:
        status: Of the response.
        content_type: Of the body.
        body: As sent.
        headers: Besides those every reply has.
    """

    status: HTTPStatus
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def error_body(status: int, kind: str, message: str, param: str | None = None) -> bytes:
    """The error object of OpenAI-compatible servers."""
    fields = {"message": message, "type": kind, "param": param, "code": status}
    return msgspec.json.encode({"error": fields})


_JSON: Final = "application/json"
_BUSY: Final = "Scripted fault: the engine is overloaded, please retry after 1 second."
_BROKEN: Final = "Scripted fault: the engine broke."

ERROR_IN_STREAM: Final = error_body(500, "InternalServerError", _BROKEN)

INSTEAD: Final[Mapping[str, CannedReply]] = {
    "http_429": CannedReply(
        HTTPStatus.TOO_MANY_REQUESTS,
        _JSON,
        error_body(429, "RateLimitError", _BUSY),
        (("Retry-After", "1"),),
    ),
    "http_500": CannedReply(HTTPStatus.INTERNAL_SERVER_ERROR, _JSON, ERROR_IN_STREAM),
    "http_503": CannedReply(
        HTTPStatus.SERVICE_UNAVAILABLE,
        _JSON,
        error_body(503, "ServiceUnavailableError", _BUSY),
        (("Retry-After", "1"),),
    ),
    "error_object": CannedReply(HTTPStatus.OK, _JSON, ERROR_IN_STREAM),
    "html": CannedReply(
        HTTPStatus.OK,
        "text/html; charset=utf-8",
        b"<!doctype html>\n<title>Sign in</title>\n<p>Scripted fault: a gateway's page.</p>\n",
    ),
    "empty_body": CannedReply(HTTPStatus.OK, _JSON, b""),
}
"""Faults that replace the answer."""

SILENT: Final = frozenset({"cut", "reset", "stall"})
"""Faults after which nothing more is sent."""

AFTER_TOKENS: Final = SILENT | {"stream_error"}
"""Faults that strike when ``fault_after`` tokens have been sent."""


def choose_fault(shares: Mapping[FaultName, float], draw: float) -> FaultName | None:
    """The fault in whose share of [0, 1) ``draw`` falls, in the order given; None past all of them."""
    reached = 0.0
    for name, share in shares.items():
        reached += share
        if draw < reached:
            return name
    return None
