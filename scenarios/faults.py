"""What is wrong with a scenario, one line for each fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scenarios.documents import Document, dotted
from scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


_PLAIN: Final = {
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "dict_type": "must be a section with keys",
    "too_short": "must not be empty",
}


def explain(error: ValidationError, document: Document) -> ScenarioError:
    """All faults as one error, each with its place, the dotted key, the fault and the remedy."""
    faults = error.errors(include_url=False)
    return ScenarioError("\n".join(_line(each, document) for each in faults if not _follows(each, faults)))


def _follows(details: ErrorDetails, faults: Sequence[ErrorDetails]) -> bool:
    """Whether a list is called too short only because its items are faulty, which is told of them."""
    key = details["loc"]
    inside = (each["loc"] for each in faults if len(each["loc"]) > len(key))
    return details["type"] == "too_short" and any(each[: len(key)] == key for each in inside)


def _line(details: ErrorDetails, document: Document) -> str:
    key = details["loc"]
    name = f" {dotted(key)}:" if key else ""
    return f"{document.place(key)}:{name} {_text(details)}"


def _text(details: ErrorDetails) -> str:
    text = _PLAIN.get(details["type"], details["msg"].removeprefix("Value error, "))
    text = text.replace("Input should be", "must be", 1)
    ours = details["type"] in ("scenario", "value_error")
    return text if ours else f"{text}, not {details['input']!r}"
