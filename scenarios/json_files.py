"""Data sets in JSON: one value a line, or one list in all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from scenarios.errors import ScenarioError
from scenarios.files import read_data

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_T = TypeVar("_T")
_ESCAPE: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
"""A whole pair, half of one, or another escape: a backslash may itself be escaped."""


def lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Place (``prompts: file:line``) and bytes of each line that isn't blank; only LF ends a line."""
    for number, line in enumerate(read_data(path).split(b"\n"), start=1):
        if line.strip():
            yield f"prompts: {path}:{number}", line


def decode(place: str, text: bytes, kind: type[_T]) -> _T:
    """The JSON value ``text`` holds.

    Raises:
        ScenarioError: It isn't JSON of that form.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{place}: {error}") from error
    except RecursionError as error:
        raise ScenarioError(f"{place}: nested too deep") from error


def decode_records(path: Path, text: bytes, kind: type[_T]) -> tuple[list[_T], tuple[str, ...]]:
    """The JSON list that a file holds, and notes on the changes that it took to read it.

    Data sets that were cut by UTF-16 units have halves of surrogate pairs, which no UTF-8 text can have.

    Raises:
        ScenarioError: It isn't JSON of that form.
    """
    place = f"prompts: {path}"
    try:
        return decode(place, text, list[kind]), ()  # type: ignore[valid-type]  # a variable is no type to mypy
    except ScenarioError:
        whole, num_halves = _without_halves(text)
        if not num_halves:
            raise
    note = f"{path.name}: halves of surrogate pairs read as U+FFFD: {num_halves}"
    return decode(place, whole, list[kind]), (note,)  # type: ignore[valid-type]  # as above


def _without_halves(text: bytes) -> tuple[bytes, int]:
    num_halves = 0

    def whole(escape: re.Match[bytes]) -> bytes:
        nonlocal num_halves
        if escape["half"] is None:
            return escape[0]
        num_halves += 1
        return b"\\ufffd"

    return _ESCAPE.sub(whole, text), num_halves
