"""The beginning of a run that isn't measured: a time, or found from the run itself."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, PlainSerializer

from scenarios.durations import format_duration, parse_duration

AUTO: Final = "auto"


def _parse(value: object) -> object:
    return value if value == AUTO else parse_duration(value)


def _write(value: int | str) -> str:
    return value if isinstance(value, str) else format_duration(value)


WarmUp = Annotated[
    int | Literal["auto"],
    BeforeValidator(_parse),
    PlainSerializer(_write, return_type=str, when_used="json"),
]
"""A scenario field written as a duration or ``auto``, held as integer ns or ``auto``."""
