"""What a scenario says that answers are measured by."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from scenarios.scenario import Scenario
    from scenarios.token_deadlines import TokenDeadlines


class Terms(NamedTuple):
    """Metrics that need one of them have no values without it.

    Attributes:
        token_deadlines: When tokens should be there; None where none are stated.
        stall_limit_ns: A gap between chunks longer than this is a stall; None to count none.
    """

    token_deadlines: TokenDeadlines | None = None
    stall_limit_ns: int | None = None

    @classmethod
    def of(cls, scenario: Scenario) -> Self:
        """Those of a scenario."""
        return cls(scenario.token_deadlines, scenario.stall_limit)


NO_TERMS = Terms()
