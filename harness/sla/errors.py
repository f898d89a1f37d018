"""What can be wrong with objectives before any load is sent."""

from __future__ import annotations

from scenarios.errors import ScenarioError


class RuleError(ScenarioError):
    """An objective that can't be judged. The message names the objective, the fault and the remedy."""
