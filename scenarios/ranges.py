"""How large the numbers of a scenario may be: what a run can have, and what a request can carry."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

MAX_REQUESTS: Final = 1_000_000_000_000
"""Of a run: a million a second for eleven days."""
MAX_AT_ONCE: Final = 1_000_000
"""Requests in flight, more than a machine has connections for."""
MAX_RATE: Final = 1e6
MIN_RATE: Final = 1e-9
"""Per second: one in 32 years."""
MAX_WHOLE: Final = 2**63 - 1
"""The largest whole number that every server's JSON takes."""

NumRequests = Annotated[int, Field(ge=1, le=MAX_REQUESTS)]
"""A scenario field: a number of requests, at least 1."""

NumAtOnce = Annotated[int, Field(ge=1, le=MAX_AT_ONCE)]
"""A scenario field: requests, or users, at one time."""
