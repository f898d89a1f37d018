"""The end of a run that was decided before its time."""

from __future__ import annotations

from typing import Final

import msgspec

LOOK_S: Final = 0.1
"""So often it is asked whether a look is due."""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """Which look at the objectives decided the run, and when.

    Attributes:
        look: From 1 (``harness.looks``).
        at_ns: Since the start of the run: what was due later isn't measured.
    """

    look: int
    at_ns: int
