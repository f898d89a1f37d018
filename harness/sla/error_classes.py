"""How the share of one class of errors is named: ``error_rate[timeout]``, ``error_rate_timeout``."""

from __future__ import annotations

import re
from typing import Final

from harness.rates import CLASS_OF, ERROR_CLASSES, ERROR_RATE
from harness.sla.errors import RuleError

_KEY: Final = re.compile(
    rf"{ERROR_RATE}\s*(?:\[\s*(?P<bracketed>\w*)\s*\]|\(\s*(?P<called>\w*)\s*\)|_(?P<joined>\w+))"
)


def share_of(key: str) -> str:
    """The name that ``error_rate[timeout]``, ``error_rate(timeout)`` stand for; another key as it is.

    Raises:
        RuleError: There is no such class of errors. The message lists those there are.
    """
    match = _KEY.fullmatch(key)
    if match is None:
        return key
    kind = match["bracketed"] or match["called"] or match["joined"] or ""
    name = f"{ERROR_RATE}_{kind}"
    if name not in CLASS_OF:
        raise RuleError(f"'{kind}' is no class of errors; known: {', '.join(ERROR_CLASSES)}")
    return name
