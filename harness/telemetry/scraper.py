"""Asks the server how it is, every second of a run and once before and after."""

from __future__ import annotations

import contextlib
import functools
import random
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from harness.native import in_thread, new_event, new_thread
from harness.telemetry.dialects import dialect_of, every_dialect
from harness.telemetry.exposition import parse
from harness.telemetry.log import Absent, Fault, Reading, Source, TelemetryLog
from harness.telemetry.page import PageClient, PageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from harness.target import Target
    from harness.telemetry.dialects import Dialect

INTERVAL_S: Final = 1.0
SETTLE_S: Final = 0.2
"""The last tokens are counted by the server a little after they were sent."""
_PATIENCE_S: Final = 10.0
_MAX_MORE_ASKS: Final = 7
"""A page without known metrics is asked for again after 1, 2, 4 ... intervals: two minutes in all."""


class _Found(NamedTuple):
    path: str
    dialect: Dialect
    first: Reading


class Missing(NamedTuple):
    """No page speaks a known dialect.

    Attributes:
        message: Why, secrets masked.
        may_come: True where a page was read, or may be read later: servers show some metrics only once they
            have served a request.
    """

    message: str
    may_come: bool


class Scraper:
    """Reads the server's metrics while it is entered, in a thread of its own.

    The event loop of the load only waits for the first reading, before the load, and for the last one, after
    it. In between the thread needs the interpreter for one or two milliseconds a second: buckets of
    histograms are only read before and after.

    Args:
        target: The server.
        path: The file that is written, new.
        started_ns: Monotonic time of the start of the run, 0 as long as it hasn't begun.
        interval_s: Between two readings, on average: at random, a quarter more or less, so that they fall in
            with no rhythm of the load.
    """

    def __init__(
        self, target: Target, path: Path, started_ns: Callable[[], int], interval_s: float = INTERVAL_S
    ) -> None:
        self._target = target
        self._path = path
        self._started_ns = started_ns
        self._interval_s = interval_s
        self._chance = random.Random()
        self._ready, self._stop = new_event(), new_event()
        self._thread = new_thread(self._work, "telemetry")

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Read while the block runs."""
        self._thread.start()
        await in_thread(lambda: self._ready.wait(_PATIENCE_S))
        try:
            yield
        finally:
            self._stop.set()
            await in_thread(lambda: self._thread.join(_PATIENCE_S))

    def _work(self) -> None:
        """A disk that takes no more ends it; the journal, on the same disk, tells the user."""
        try:
            with (
                contextlib.suppress(OSError),
                PageClient(self._target) as client,
                TelemetryLog(self._path, self._started_ns) as log,
            ):
                self._watch(client, log)
        finally:
            self._ready.set()

    def _watch(self, client: PageClient, log: TelemetryLog) -> None:
        found = self._find(client)
        if isinstance(found, Missing):
            log.write(Absent(message=found.message))
            return
        log.write(Source(url=client.url(found.path), dialect=found.dialect.name))
        log.add(found.first)
        self._ready.set()
        while not self._stop.wait(self._interval_s * self._chance.uniform(0.75, 1.25)):
            log.add(_read(client, found.path, found.dialect, found.dialect.wanted))
        time.sleep(SETTLE_S)
        log.add(_read(client, found.path, found.dialect, found.dialect.all_wanted))

    def _find(self, client: PageClient) -> _Found | Missing:
        """The page, asked for again for a while where it may still come; the load doesn't wait for that."""
        found = find(client)
        for doubling in range(_MAX_MORE_ASKS):
            if isinstance(found, _Found) or not found.may_come:
                break
            self._ready.set()
            if self._stop.wait(self._interval_s * 2**doubling * self._chance.uniform(0.75, 1.25)):
                break
            found = find(client)
        return found


def find(client: PageClient) -> _Found | Missing:
    """The first page that speaks a known dialect, or why there is none."""
    reasons, may_come = [], False
    for path in (path for page in _pages() for path in client.paths(page)):
        asked_ns = time.monotonic_ns()
        try:
            page = parse(client.get(path), _every_wanted())
        except PageError as error:
            reasons.append(str(error))
            may_come = may_come or error.may_pass
            if error.unreachable:
                break
            continue
        if dialect := dialect_of(page):
            return _Found(path, dialect, Reading(at_ns=_middle(asked_ns), figures=dialect.figures(page)))
        known = ", ".join(each.name for each in every_dialect())
        may_come = True
        reasons.append(f"{client.url(path)} has none of the metrics of {known}")
    return Missing(reasons[0], may_come)


@functools.cache
def _every_wanted() -> frozenset[str]:
    """What any dialect reads of a page."""
    return frozenset().union(*(dialect.all_wanted for dialect in every_dialect()))


def _pages() -> tuple[str, ...]:
    """The usual one first."""
    return tuple(sorted({dialect.path for dialect in every_dialect()}, key=lambda path: (len(path), path)))


def _read(client: PageClient, path: str, dialect: Dialect, wanted: frozenset[str]) -> Reading | Fault:
    asked_ns = time.monotonic_ns()
    try:
        figures = dialect.figures(parse(client.get(path), wanted))
    except PageError as error:
        return Fault(at_ns=_middle(asked_ns), message=str(error))
    if not figures.num_known:
        return Fault(at_ns=_middle(asked_ns), message=f"{client.url(path)} shows other things than before")
    return Reading(at_ns=_middle(asked_ns), figures=figures)


def _middle(asked_ns: int) -> int:
    return (asked_ns + time.monotonic_ns()) // 2
