"""What keeps a search from being begun."""

from __future__ import annotations

from harness.errors import HarnessError


class CapacityError(HarnessError, ValueError):
    """The scenario or the options can't be used for a search. The message names the fault and the remedy."""
