"""What can be wrong with a measurement of quality."""

from __future__ import annotations


class QualityError(ValueError):
    """It can't be measured so. The message names the fault and the remedy."""
