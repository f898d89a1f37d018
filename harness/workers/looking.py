"""Looks at the objectives of a load that several workers send: by what all of them have counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.tally import Part, Tally

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.decided import Decided
    from harness.load_status import LoadStatus
    from harness.looks import Looks
    from harness.result_folder import Manifest


class CommonLooks:
    """Looks once every worker has told what it counted.

    Args:
        looks: When, and at what.
        manifest: The run.
    """

    def __init__(self, looks: Looks, manifest: Manifest) -> None:
        self._looks = looks
        self._manifest = manifest
        self._parts: dict[int, Part] = {}

    def is_due(self, elapsed_ns: int, statuses: Iterable[LoadStatus | None]) -> bool:
        """Whether all workers are to be asked now. What they told before is forgotten then.

        Args:
            elapsed_ns: Since the start.
            statuses: How each worker's load stands; None where it hasn't told.
        """
        lives = [status.live for status in statuses if status is not None]
        is_due = self._looks.is_due(elapsed_ns, sum(live.num_ok + live.num_failed for live in lives))
        if is_due:
            self._parts.clear()
        return is_due

    def take(self, worker: int, part: Part) -> None:
        """What a worker counted."""
        self._parts[worker] = part

    def has_all_of(self, num_workers: int) -> bool:
        """Whether all have told."""
        return len(self._parts) == num_workers

    def look(self, status: LoadStatus) -> Decided | None:
        """Whether every objective is decided by what they told, which is forgotten.

        Args:
            status: How the load of all of them stands.
        """
        tally = Tally(self._manifest)
        for part in self._parts.values():
            tally.merge(part)
        self._parts.clear()
        return self._looks.look(tally, status)
