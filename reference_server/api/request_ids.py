"""Ids: one that the client sees and may choose, one for the engine that is always new."""

from __future__ import annotations

import re
import uuid

_USABLE = re.compile(r"[A-Za-z0-9._:@+=-]{1,128}")


def answer_id(prefix: str, *chosen: str | None) -> str:
    """``prefix-`` and the first usable id that the client chose, else a random one."""
    for candidate in chosen:
        if candidate is not None and _USABLE.fullmatch(candidate):
            return f"{prefix}-{candidate}"
    return f"{prefix}-{uuid.uuid4().hex[:16]}"


def engine_id() -> str:
    """A new id, whatever the client calls its request."""
    return uuid.uuid4().hex
