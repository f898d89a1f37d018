"""What is wrong with a scenario, one line for each fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scenarios.documents import Document, dotted
from scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


_PLAIN: Final = {
    "int_type": "Input should be a whole number",
    "float_type": "Input should be a number",
    "string_type": "Input should be text",
    "bool_type": "Input should be true or false",
    "dict_type": "Input should be a section with keys",
}


def explain(error: ValidationError, document: Document) -> ScenarioError:
    """All faults as one error, each with its place, the dotted key, the fault and the remedy."""
    return ScenarioError("\n".join(_line(each, document) for each in error.errors(include_url=False)))


def _line(details: ErrorDetails, document: Document) -> str:
    key = details["loc"]
    name = f" {dotted(key)}:" if key else ""
    return f"{document.place(key)}:{name} {_text(details)}"


def _text(details: ErrorDetails) -> str:
    text = _PLAIN.get(details["type"], details["msg"].removeprefix("Value error, "))
    if not text.startswith("Input should be"):
        return text
    return text.replace("Input should be", "must be", 1) + f", not {details['input']!r}"
