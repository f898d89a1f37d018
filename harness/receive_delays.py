"""How late stamps really were: the kernel's own receive time against ours, on a share of the connections."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from harness.probe_lag import ProbeLag
from reports.histogram import Histogram

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable

CONNECTIONS_PER_SAMPLE: Final = 8
_MAX_PENDING: Final = 4_096
_STEP_NS: Final = 1_000_000


class LagSource(Protocol):
    """Whoever reads beside the event loop, and probes how late it does."""

    def lags_ns(self) -> Iterable[int]:
        """How late it got to each probe since it was asked last."""


class ReceiveDelays:
    """The time between the kernel's receipt of a segment and the harness's stamp of it.

    The kernel stamps by the wall clock. Both ends of a delay are therefore read from the wall clock, one
    right beside the monotonic one. A delay during which the two drifted apart (the clock was set) is left
    out, and so is one that is negative or longer than everything has lasted (the clock isn't the kernel's).
    A read that held several segments has the stamp of the last; what its first one waited is not known from
    it, but the event loop's probe knows.

    The first connection is sampled, and then one at random of every eight, so that neither one stream nor the
    order in which a server serves its streams has a say.

    Attributes:
        num_unstamped: Reads to which the kernel gave no stamp, such as the first of a connection.
    """

    def __init__(self) -> None:
        self.num_unstamped = 0
        self._histogram = Histogram()
        self._pending: list[int] = []
        self._begun_ns = time.monotonic_ns()
        self._wall_ahead_ns = time.time_ns() - self._begun_ns
        self._chance = random.Random()
        self._num_connections = 0
        self._chosen = 0
        self._reader: LagSource | None = None
        self._reader_lag: ProbeLag | None = None

    def takes_next(self) -> bool:
        """Whether the connection that is opened next is one of the sample."""
        at = self._num_connections
        if at and (at - 1) % CONNECTIONS_PER_SAMPLE == 0:
            self._chosen = at + self._chance.randrange(CONNECTIONS_PER_SAMPLE)
        self._num_connections += 1
        return at == self._chosen

    def read_by(self, reader: LagSource) -> None:
        """From now on ``reader`` stamps what comes, so that the event loop's lag says nothing of stamps."""
        self._reader = reader
        self._reader_lag = self._reader_lag or ProbeLag()

    def reader_ends(self) -> None:
        """The reader is about to end."""
        self.reader_lag()
        self._reader = None

    def reader_lag(self) -> Histogram | None:
        """How late the reader got to its probes so far, in us; None where the event loop reads."""
        if self._reader_lag is None:
            return None
        if self._reader is not None:
            self._reader_lag.note_all(self._reader.lags_ns())
        return self._reader_lag.histogram

    def note(self, kernel_ns: int) -> None:
        """The kernel stamped ``kernel_ns`` (wall clock) on what was read just now."""
        now_ns, monotonic_ns = time.time_ns(), time.monotonic_ns()
        self._note(now_ns - kernel_ns, monotonic_ns, now_ns - monotonic_ns)

    def note_reads(self, columns: array[int]) -> None:
        """Take reads of the reader's thread, which has looked at both clocks itself.

        Args:
            columns: As ``harness.transport.reader.Reads``.
        """
        for stamp_ns, delay_ns, ahead_ns in zip(columns[::4], columns[2::4], columns[3::4], strict=True):
            if delay_ns < 0:
                self.num_unstamped += 1
            else:
                self._note(delay_ns, stamp_ns, ahead_ns)

    def note_unstamped(self) -> None:
        """What was read just now has no stamp."""
        self.num_unstamped += 1

    def _note(self, delay_ns: int, stamp_ns: int, ahead_ns: int) -> None:
        was_set = abs(ahead_ns - self._wall_ahead_ns) > _STEP_NS
        self._wall_ahead_ns = ahead_ns
        if was_set or not 0 <= delay_ns <= stamp_ns - self._begun_ns:
            return
        self._pending.append(delay_ns)
        if len(self._pending) >= _MAX_PENDING:
            self._count()

    def histogram(self) -> Histogram:
        """All delays, in us, up to date until the next ``note``."""
        self._count()
        return self._histogram

    def _count(self) -> None:
        delays_us = np.array(self._pending, np.int64) // 1_000
        self._pending = []
        self._histogram.record_many(delays_us.clip(0, self._histogram.layout.highest))
