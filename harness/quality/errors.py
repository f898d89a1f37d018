"""What can be wrong with a measurement of quality."""

from __future__ import annotations

from harness.errors import HarnessError


class QualityError(HarnessError):
    """It can't be measured so. The message names the fault and the remedy."""


class NotGivenError(QualityError):
    """The server doesn't give log-probabilities in the way that it was asked."""
