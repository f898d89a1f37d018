"""What a server says about a failure, as one short line."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

MAX_BODY_BYTES: Final = 65_536
MAX_CHARS: Final = 500
_KEYS: Final = ("error", "errors", "message", "detail", "msg")
_BLANKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_TAGS: Final = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)


def error_text(body: bytes) -> str:
    """The message in an error body of any of the usual shapes, else the body's own text.

    As one line, but not yet cut: secrets are masked before that (``one_line``).
    """
    try:
        found = _message(msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = None
    if found is None:
        found = body[:MAX_BODY_BYTES].decode(errors="replace")
        plain = _TAGS.sub(" ", found) if found.lstrip().startswith("<") else found
        found = plain if plain.strip() else found
    return _BLANKS.sub(" ", found).strip()


def error_in(data: bytes) -> str | None:
    """The message, where it is a JSON object that holds one as the usual error bodies do; else None."""
    try:
        body = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    holds_message = isinstance(body, dict) and (body.get("error") or any(map(_message, map(body.get, _KEYS))))
    return error_text(data) if holds_message else None


def one_line(text: str) -> str:
    """``text`` without line breaks and control characters, at most ``MAX_CHARS`` long."""
    text = _BLANKS.sub(" ", text).strip()
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"


def _message(body: object) -> str | None:
    """What stands under one of the keys: a text, or something that holds one."""
    if isinstance(body, str):
        return body
    if isinstance(body, list):
        return "; ".join(filter(None, map(_message, body[:3]))) or None
    if not isinstance(body, dict):
        return None
    for key in _KEYS:
        if (value := body.get(key)) and (found := _message(value)):
            return _with_type(found, body)
    kind = body.get("type") or body.get("code")
    return str(kind) if kind else None


def _with_type(message: str, body: dict[str, Any]) -> str:
    kind = body.get("type")
    if kind in (None, "error"):
        kind = body.get("code")
    return f"{message} ({kind})" if isinstance(kind, str) and "error" not in body else message
