"""Text from servers and scenarios, made safe to show."""

from __future__ import annotations

import re

# C0 and C1 controls (terminal escapes, XML's forbidden characters), lone surrogates, non-characters
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    r"""``text`` with control characters written out (``\x1b``); line breaks and tabs stay."""
    return _UNPRINTABLE.sub(_escaped, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """``printable`` text with all white space runs made one space."""
    return " ".join(printable(text).split())


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
