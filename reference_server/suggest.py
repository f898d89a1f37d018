"""Did you mean ...?"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def suggestion(name: str, known: Iterable[str]) -> str:
    """``"; did you mean X?"`` if a known name is close to ``name``, else nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
