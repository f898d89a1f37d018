"""Keeps keys and passwords out of everything that is shown or written."""

from __future__ import annotations

import base64
import functools
import json
import re
from html.entities import html5
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MASK: Final = "***"
_SHORTEST: Final = 4
_BACKSLASH: Final = "\\"
_MANY_BACKSLASHES: Final = 3
_LONGEST: Final = 256
_MOST_PER_CHARACTER: Final = 12
_ESCAPE: Final = re.compile(r"[\\%&+]")
"""One of these begins whatever stands for another character."""
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
        plain = [secret for secret in secrets if len(secret) >= _SHORTEST]
        self._secrets = _longest_first([*plain, *map(_in_base64, plain)])
        forms = _longest_first(form for secret in self._secrets for form in _forms(secret))
        self._pattern = re.compile("|".join(map(re.escape, forms))) if forms else None

    def mask(self, text: str) -> str:
        """``text`` with every secret replaced by ``***``."""
        if self._pattern is None:
            return text
        text = self._pattern.sub(MASK, text)
        return text if _ESCAPE.search(text) is None else self._escaped.sub(MASK, text)

    @functools.cached_property
    def _escaped(self) -> re.Pattern[str]:
        """Matches each secret, however each of its characters is written."""
        return re.compile("|".join(map(_any_writing, self._secrets)))

    def __repr__(self) -> str:
        return "Secrets(...)"


def _longest_first(texts: Iterable[str]) -> list[str]:
    return sorted(set(texts), key=len, reverse=True)


def _in_base64(secret: str) -> str:
    return base64.b64encode(secret.encode()).decode()


def _forms(secret: str) -> Iterable[str]:
    """A secret as it mostly turns up: plain, escaped in JSON, percent-encoded."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield quote(secret, safe="")
    yield quote_plus(secret)


def _any_writing(secret: str) -> str:
    """A pattern of a secret; of a very long one, of its beginning and all that may be the rest of it."""
    pattern = "".join(map(_any_character, secret[:_LONGEST]))
    if secret.count(_BACKSLASH) > _MANY_BACKSLASHES:
        pattern = pattern.replace("(?:", "(?>")
    rest = len(secret) - _LONGEST
    return pattern if rest <= 0 else rf"{pattern}[^\s\"<>]{{0,{_MOST_PER_CHARACTER * rest}}}"


@functools.cache
def _names() -> dict[str, list[str]]:
    """HTML's names of each character, with what ends them."""
    names: dict[str, list[str]] = {}
    for name, characters in html5.items():
        if name.endswith(";"):
            names.setdefault(characters, []).append(name)
    return names


@functools.cache
def _any_character(character: str) -> str:
    """A pattern of the ways to write a character in JSON, in an address, in HTML, and plainly.

    It takes one way and doesn't come back for another, so that no text costs more than its length; only of a
    backslash it may be unknown whether the next belongs to it.
    """
    code = ord(character)
    utf_16 = character.encode("utf-16-be").hex()
    ways = [
        "".join(rf"\\{{1,4}}u(?i:{utf_16[i : i + 4]})" for i in range(0, len(utf_16), 4)),
        "".join(f"(?i:%(?:25)?{byte:02x})" for byte in character.encode()),
        f"(?i:&#(?:0*{code}|x0*{code:x});)",
        *(re.escape(f"&{name}") for name in _names().get(character, ())),
        re.escape(character) if character.isalnum() else rf"\\{{0,4}}{re.escape(character)}",
    ]
    if character == " ":
        ways.append(re.escape("+"))
    return f"(?{':' if character == _BACKSLASH else '>'}{'|'.join(ways)})"
