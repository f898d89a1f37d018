"""The headers that every request has."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from harness.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import SplitResult

_OURS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding"})
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def headers_for(parts: SplitResult, api_key: str | None, given: Mapping[str, str]) -> dict[str, str]:
    """What is sent with every request.

    Args:
        parts: The address; a user and password in it become basic authorisation.
        api_key: Sent as a bearer token unless ``given`` holds an authorisation.
        given: By name.

    Raises:
        TargetError: One can't be sent.
    """
    for name, value in given.items():
        _check_header(name, value)
    names = {name.lower() for name in given}
    headers = dict(given)
    if "authorization" not in names and (own := _authorization(parts, api_key)):
        _check_header("Authorization", own)
        headers["Authorization"] = own
    return headers


def _authorization(parts: SplitResult, api_key: str | None) -> str | None:
    if api_key:
        return f"Bearer {api_key}"
    if parts.username is None:
        return None
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _check_header(name: str, value: str) -> None:
    if not _HEADER_NAME.fullmatch(name):
        raise TargetError(f"header name {name!r} can't be sent; it must be letters, digits and hyphens")
    if name.lower() in _OURS:
        raise TargetError(f"header {name} is set by tokenpace and can't be given")
    if not _HEADER_VALUE.fullmatch(value):
        raise TargetError(f"the value of header {name} can't be sent: it isn't one line of Latin-1")
