"""Between two probes: the next one shall not meet what the last one left behind."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from harness.telemetry.exposition import parse
from harness.telemetry.page import PageClient, PageError
from harness.telemetry.scraper import Missing, find

if TYPE_CHECKING:
    from harness.target import Target

PATIENCE_S: Final = 60.0
_PAUSE_S: Final = 0.25


class Drained(NamedTuple):
    """How the server was found.

    Attributes:
        words: For the report.
        in_flight: Requests that it still had, by its own account; None where it doesn't say.
    """

    words: str
    in_flight: int | None


async def drained(target: Target, patience_s: float = PATIENCE_S) -> Drained:
    """Wait until the server has nothing to do, by its own account.

    Where it keeps none, all that is known is that the requests of the run are over.
    """
    return await asyncio.to_thread(_drained, target, patience_s)


def _drained(target: Target, patience_s: float) -> Drained:
    begun_s = time.monotonic()
    with PageClient(target) as client:
        found = find(client)
        if isinstance(found, Missing) or found.first.figures.running is None:
            return Drained("our own requests were over; the server doesn't say what it has in flight", None)
        figures = found.first.figures
        while True:
            num = round((figures.running or 0) + (figures.waiting or 0))
            waited_s = time.monotonic() - begun_s
            if not num:
                return Drained(f"the server was empty after {waited_s:.1f} s", 0)
            if waited_s > patience_s:
                return Drained(f"the server still had {num} requests in flight after {waited_s:.0f} s", num)
            time.sleep(_PAUSE_S)
            try:
                figures = found.dialect.figures(parse(client.get(found.path), found.dialect.wanted))
            except PageError as error:
                return Drained(f"the server no longer says what it has in flight ({error})", None)
