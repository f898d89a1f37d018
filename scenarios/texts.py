"""One text, or a list of texts."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from scenarios.section import fault


def _one_or_many(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and value:
        return tuple(value)
    raise fault(f"must be a text or a list of texts, not {value!r}")


Texts = Annotated[tuple[str, ...], BeforeValidator(_one_or_many)]
"""A scenario field written as a text or a list of at least one, held as a tuple."""
