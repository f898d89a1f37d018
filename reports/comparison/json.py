"""The comparison as strict JSON, with a versioned schema (``docs/comparison.schema.json``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from reports.comparison.document import Comparison


def render(comparison: Comparison) -> str:
    """The whole document; ``reports.comparison.document.load`` reads it."""
    return msgspec.json.format(msgspec.json.encode(comparison), indent=1).decode() + "\n"
