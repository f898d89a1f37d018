"""What one load of known size came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from harness.calibration.comparison import Errors
    from reports.result import ClientHealth


class Measured(NamedTuple):
    """A load that was run.

    Attributes:
        health: What the harness said of itself.
        errors: What the server's log says of it.
        seconds: How long it took.
    """

    health: ClientHealth
    errors: Errors
    seconds: float

    @property
    def chunks_per_s(self) -> float:
        """Chunks received per second, over the whole run."""
        return self.health.num_chunks / self.seconds
