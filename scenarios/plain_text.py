"""Texts that can be sent: UTF-8 has no form for half of a surrogate pair, which an escape can write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from scenarios.documents import dotted
from scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scenarios.documents import Document, Key

_HALF: Final = re.compile("[\ud800-\udfff]")


def check_texts(document: Document) -> None:
    """Look at every key and every text of a document.

    Raises:
        ScenarioError: One can't be written in UTF-8. The message names its key.
    """
    for key, half in _halves(document.data, (), set()):
        raise ScenarioError(
            f"{document.place(key)}: {_shown(dotted(key))}: holds \\u{ord(half):04x}, half of a surrogate "
            "pair, which can't be sent; write the character itself, or its whole code such as \\U0001F600"
        )


def _halves(value: object, key: Key, seen: set[int]) -> Iterator[tuple[Key, str]]:
    if isinstance(value, str) and (match := _HALF.search(value)):
        yield key, match[0]
    if not isinstance(value, dict | list | tuple) or id(value) in seen:
        return
    seen.add(id(value))  # an alias of YAML stands for the same value in many places
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _halves(name, (*key, name), seen)
        yield from _halves(inner, (*key, name), seen)


def _shown(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()
