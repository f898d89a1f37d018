"""What can be wrong with a comparison before anything is compared."""

from __future__ import annotations

from harness.errors import HarnessError


class ComparisonError(HarnessError, ValueError):
    """Runs, figures or allowances can't be used. The message names the fault and the remedy."""


class BaselineError(ComparisonError):
    """A baseline can't be read, written or found."""
