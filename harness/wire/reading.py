"""JSON of one form, read in spite of what servers get wrong in it without harm to the answer."""

from __future__ import annotations

import re
from typing import Annotated, Final, Generic, TypeVar

import msgspec

from harness.wire import WireError
from harness.wire.error_text import error_text

Form = TypeVar("Form", bound=msgspec.Struct)

MAX_TOKENS: Final = 1 << 24
"""More than any model's context holds: a count beyond it is none."""
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)]
"""A number of tokens as a usage may state it."""
FAULTS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
NOT_READ: Final = "(not read)"
"""The name of a field in the forms that skip it."""

_ESCAPES: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a whole pair
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"  # half of one
    r"|\\."
)
_NO_NUMBERS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|(-?\b(?:NaN|Infinity)\b)', re.DOTALL)
"""A string, be it unfinished, or a word that Python's JSON has for a number."""


class Reader(Generic[Form]):
    """Reads one form.

    Args:
        form: With its usage, every count of it a ``Count``.
        without_usage: The same form, that skips the usage.

    Attributes:
        decoder: Of the form as it should be.
    """

    def __init__(self, form: type[Form], without_usage: type[Form]) -> None:
        self.decoder: msgspec.json.Decoder[Form] = msgspec.json.Decoder(form)
        self._without_usage: msgspec.json.Decoder[Form] = msgspec.json.Decoder(without_usage)

    def read(self, data: bytes) -> tuple[Form, bool]:
        """What ``data`` holds, and whether its usage had to be left out because it is no count of tokens.

        Raises:
            WireError: It is no JSON object of this form.
        """
        try:
            return self.decoder.decode(data), False
        except FAULTS:
            return self._mended(_with_replacements(data), data)

    def _mended(self, text: str, data: bytes) -> tuple[Form, bool]:
        try:
            return self.decoder.decode(text), False
        except FAULTS as error:
            try:
                return self._without_usage.decode(text), True
            except FAULTS:
                raise WireError(f"{error}: {error_text(data)}") from error


def _with_replacements(data: bytes) -> str:
    """As JSON text, with replacements for what can't be.

    Bytes that aren't UTF-8 and halves of surrogate pairs (from a text cut by UTF-16 units) become replacement
    characters; NaN and Infinity, as Python writes them, something that is no number. A byte order mark goes.
    """
    text = data.decode(errors="replace").removeprefix("\ufeff")
    if "\\ud" in text or "\\uD" in text:
        text = _ESCAPES.sub(lambda found: "\\ufffd" if found[1] else found[0], text)
    if "NaN" in text or "Infinity" in text:
        text = _NO_NUMBERS.sub(lambda found: "false" if found[1] else found[0], text)
    return text
