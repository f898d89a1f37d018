"""The time of day. It is a label for people: whatever is measured is measured by the monotonic clock."""

from __future__ import annotations

from datetime import datetime


def now_text() -> str:
    """ISO 8601 with zone, in whole seconds."""
    return datetime.now().astimezone().isoformat(timespec="seconds")
