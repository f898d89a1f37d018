"""What is wrong with an experiment."""

from __future__ import annotations

from harness.errors import HarnessError


class LabError(HarnessError, ValueError):
    """An experiment can't be used. The message names file, key and remedy."""
