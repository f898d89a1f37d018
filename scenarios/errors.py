"""What can go wrong before any load is sent."""

from __future__ import annotations


class ScenarioError(ValueError):
    """A scenario that can't be run. The message names the key, the fault and the remedy."""
