"""How sequences share steps.

A way is a file here, whose name is its name in the configuration, with a class ``BATCHING`` that extends
:class:`Batching`. The scheduler keeps queues and blocks; a way fills one step after the other, by the
scheduler's ``admit``, ``make_room`` and ``compute``. Whatever it chooses, tokens are the same: only when they
are computed differs. Plain Python, without torch or numpy.
"""

from __future__ import annotations

import abc
import sys
from typing import TYPE_CHECKING

from reference_server.extensions import load_extension

if TYPE_CHECKING:
    from reference_server.engine.scheduler import Scheduler, SchedulerConfig
    from reference_server.engine.step_plan import ScheduledSequence, StepPlan


class Batching(abc.ABC):
    """Fills steps.

    Args:
        config: Their limits.
    """

    holds_places = False
    """Whether a sequence that ends keeps its place and blocks until all that run have ended."""

    reserves_output = False
    """Whether a sequence gets blocks for all it can ever need when it joins."""

    def __init__(self, config: SchedulerConfig) -> None:
        self.config = config

    @abc.abstractmethod
    def fill(self, plan: StepPlan, scheduler: Scheduler) -> None:
        """Choose a step's work; something, if there is a sequence."""

    def observe(self, scheduled: list[ScheduledSequence], duration_ns: int) -> None:  # noqa: B027  # most ways learn nothing
        """Take note of how long a step took."""


def batching(name: str, config: SchedulerConfig) -> Batching:
    """The way of a name.

    Raises:
        KeyError: There is none of this name.
    """
    return load_extension(sys.modules[__name__], name).BATCHING(config)  # type: ignore[no-any-return]  # found by name: untyped
