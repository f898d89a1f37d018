"""What the page shows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from harness.locust.web import document
from harness.locust.web.follower import Follower

if TYPE_CHECKING:
    from pathlib import Path

    from harness.locust.engine import Engine
    from harness.run import Run
    from reports.result import Result

FRESH_S: Final = 1.5
"""A look at a run serves all who ask within this time."""


class Board:
    """The last run that was asked for, on its way from nothing to its result.

    Attributes:
        folder: What the last run that is over has left; None where there is none.
        remark: What was refused while the run goes on; empty for nothing.
    """

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.remark = ""
        self._follower: Follower | None = None
        self._document = document.nothing_yet()
        self._result: Result | None = None
        self._looked_s = 0.0

    @property
    def is_following(self) -> bool:
        """Whether a run goes on."""
        return self._follower is not None

    def follow(self, engine: Engine) -> Follower:
        """A run begins. It is to be told of each request that has ended."""
        self._wipe(document.starting())
        self._follower = Follower(engine)
        return self._follower

    def refuse(self, why: str) -> None:
        """There is no run, or it broke down."""
        self._wipe(document.refused(why))

    def conclude(self, run: Run) -> None:
        """A run is over."""
        fault = None if run.fault is None else str(run.fault)
        self._wipe(document.concluded(run.result, run.folder.path, fault))
        self._result, self.folder = run.result, run.folder.path

    def clear(self) -> None:
        """Show nothing, until the next run."""
        if not self.is_following:
            self._wipe(document.nothing_yet())

    def _wipe(self, shown: dict[str, Any]) -> None:
        self._follower = self._result = self.folder = None
        self.remark = ""
        self._document, self._looked_s = shown, 0.0

    def document(self) -> dict[str, Any]:
        """All that is shown, as strict JSON."""
        self._refresh()
        return {**self._document, "remark": self.remark}

    def result(self) -> Result | None:
        """The result, or what is known of it now; None where nothing is."""
        self._refresh()
        return self._result

    def _refresh(self) -> None:
        follower, now_s = self._follower, time.monotonic()
        if follower is None or now_s - self._looked_s < FRESH_S:
            return
        self._looked_s = now_s
        look = follower.look()
        if look is not None and self._follower is follower:  # or else the run has ended meanwhile
            self._document, self._result = document.under_way(look), look.result
