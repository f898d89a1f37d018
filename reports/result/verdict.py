"""The verdict of a rule or of a run, and the exit code that tells it."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable


class Verdict(enum.StrEnum):
    """The verdict of a rule or of a run."""

    PASS = "PASS"  # noqa: S105 (a verdict, not a password)
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    INVALID = "INVALID"

    @property
    def exit_code(self) -> int:
        """The process exit code: PASS 0, FAIL 1, INCONCLUSIVE 3, INVALID 4 (2 is a usage error)."""
        return {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3, "INVALID": 4}[self.value]


_WORST_FIRST: Final = (Verdict.INVALID, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS)


def worst(verdicts: Iterable[Verdict | None]) -> Verdict | None:
    """The worst of several: INVALID, FAIL, INCONCLUSIVE, PASS; None where there is none."""
    found = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in found), None)


def exit_code(verdict: Verdict | None, interrupted: str | None) -> int:
    """The exit code of a command.

    Args:
        verdict: Of its work; None, which is 0, where no objectives were stated.
        interrupted: Name of the signal that ended it, None if none did: 130 for SIGINT, 143 for SIGTERM, 129
            for SIGHUP.
    """
    if interrupted is not None:
        return {"SIGHUP": 129, "SIGINT": 130, "SIGTERM": 143}.get(interrupted, 130)
    return 0 if verdict is None else verdict.exit_code
