"""Keeps keys and passwords out of everything that is shown or written."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MASK: Final = "***"
_SHORTEST: Final = 4
_ESCAPED_TOO: Final = re.compile(r"[=&<>'+]")
"""What some writers of JSON escape to be safe in a page."""
_TELLING: Final = re.compile(r"auth|cookie|key|token|secret|passw|credential|signature|^sig$", re.IGNORECASE)


def names_secret(name: str) -> bool:
    """True if a header or query parameter of that name holds a secret."""
    return _TELLING.search(name) is not None


def without_secrets(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario as it may be written down.

    Masked are texts of ``extra_body`` and ``tags`` under keys that tell of a secret: ``api_key``, ``token``.
    """
    shown = dict(scenario)
    if "tags" in shown:
        shown["tags"] = _masked(shown["tags"])
    sampling = shown.get("sampling", {})
    if "extra_body" in sampling:
        shown["sampling"] = {**sampling, "extra_body": _masked(sampling["extra_body"])}
    return shown


def _masked(value: object, is_secret: bool = False) -> object:
    """Texts under keys that tell; numbers and switches (``max_tokens``, ``return_token_ids``) are none."""
    if isinstance(value, dict):
        return {key: _masked(each, is_secret or names_secret(str(key))) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(each, is_secret) for each in value]
    return MASK if is_secret and isinstance(value, str) else value


class Secrets:
    """A set of secrets that can be taken out of any text.

    Secrets of fewer than four characters are taken out of addresses and headers only: in free text they
    could be part of any word.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets for form in _forms(secret) if len(form) >= _SHORTEST}
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def mask(self, text: str) -> str:
        """``text`` with every secret replaced by ``***``."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def __repr__(self) -> str:
        return "Secrets(...)"


def _forms(secret: str) -> Iterable[str]:
    """A secret as it may turn up: plain, escaped in JSON one way or another, percent-encoded, in base64."""
    yield secret
    in_json = json.dumps(secret)[1:-1]
    for escaped in (in_json, _ESCAPED_TOO.sub(lambda found: f"\\u{ord(found[0]):04x}", in_json)):
        yield escaped
        yield escaped.replace("/", r"\/")
    yield quote(secret, safe="")
    yield quote_plus(secret)
    yield base64.b64encode(secret.encode()).decode()
