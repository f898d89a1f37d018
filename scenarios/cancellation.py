"""Users who don't wait for the end of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from scenarios.durations import Duration
from scenarios.rates import Share
from scenarios.section import Section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator


class Cancellation(Section):
    """The client closes the connection of some requests while they are being answered.

    Attributes:
        share: Of all requests; which ones is left to chance.
        after: How long after its sending a request is given up, unless it has ended by then.
    """

    share: Share = Field(examples=["10%"])
    after: Duration = Field(gt=0, examples=["500ms"])

    def delays(self, rng: Generator) -> Iterator[int | None]:
        """For each request when it is given up, ns; None for one that is waited for."""
        while True:
            yield self.after if rng.random() < self.share else None
