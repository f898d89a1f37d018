"""When each token of an answer should be there for a reader not to notice the making of it."""

from __future__ import annotations

from pydantic import Field, field_validator

from scenarios.durations import Duration
from scenarios.section import Section, fault


class TokenDeadlines(Section):
    """Token i, from 0, is in time if it comes no later than ``ttft`` + i x ``tpot`` after the start.

    A late token makes the later ones late only if they come late themselves: a stream that has fallen behind
    and catches up is in time again.

    Attributes:
        ttft: For the first token.
        tpot: For each token after it; a reader takes 100 to 250 ms for one.
    """

    ttft: Duration = Field(examples=["500ms"])
    tpot: Duration = Field(examples=["100ms"])

    @field_validator("*", mode="after")
    @classmethod
    def _some_time(cls, value: int) -> int:
        if value == 0:
            raise fault("must be longer than 0; no token comes at once")
        return value
