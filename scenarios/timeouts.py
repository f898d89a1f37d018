"""How long to wait for what."""

from __future__ import annotations

from pydantic import field_validator

from scenarios.durations import Duration
from scenarios.section import Section, fault


class Timeouts(Section):
    """Each ends a request as ``timeout`` with its name as the detail.

    Attributes:
        connect: For a new connection, TLS included.
        first_token: From sending to the first token.
        idle: Between two reads once the answer has begun.
        total: From sending to the end.
    """

    connect: Duration = 10_000_000_000
    first_token: Duration = 120_000_000_000
    idle: Duration = 60_000_000_000
    total: Duration = 600_000_000_000

    @field_validator("*", mode="after")
    @classmethod
    def _some_time(cls, value: int) -> int:
        if value == 0:
            raise fault("must be longer than 0; a request without a limit could hold a run for ever")
        return value
