"""The run over time: a bounded number of slices that grow longer as the run does."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from harness.metrics import Missing, metric
from harness.summary.in_flight import peaks_in_flight
from harness.summary.slice_histograms import SliceHistograms
from harness.summary.token_arrivals import IntArray, token_arrivals
from reports.result import TimePoint

if TYPE_CHECKING:
    from harness.record import Record
    from harness.series import Series

_FIRST_LENGTH_NS: Final = 50_000_000
_MAX_SLICES: Final = 128
_MANY: Final = 4_096
_COUNTS: Final = ("sent", "completed", "failed", "good", "output_tokens", "input_tokens")
_TTFT, _ITL, _TPOT = metric("ttft"), metric("itl"), metric("tpot")


class SlicesState(msgspec.Struct, frozen=True, kw_only=True):
    """What ``Slices`` hold.

    Attributes:
        length_ns: Of a slice.
        last_ns: The last thing that happened.
        counts: By name, one for each slice.
        histograms: Packed, one for each slice, of TTFT, of ITL and of TPOT.
        sent_ns: When each request was sent, 64 bits each, little end first.
        done_ns: When it was over, likewise.
    """

    length_ns: int
    last_ns: int
    counts: dict[str, list[int]]
    histograms: list[list[bytes | None]]
    sent_ns: bytes
    done_ns: bytes


class Slices:
    """Counts and histograms over time, of the whole run, warm-up included.

    Two neighbours become one, and slices twice as long, whenever there are more than 128; so a run has 64 to
    128 of them, or fewer where it is shorter than 3.2 s. Beside them stand 16 bytes for each request.

    Args:
        ttft: The series shown as TTFT.
        max_slices: An even number.
    """

    def __init__(self, ttft: Series, max_slices: int = _MAX_SLICES) -> None:
        self.length_ns = _FIRST_LENGTH_NS
        self._ttft_series = ttft
        self._max_slices = max_slices
        self._counts = {name: np.zeros(max_slices, np.int64) for name in _COUNTS}
        self._ttft = SliceHistograms(max_slices)
        self._itl = SliceHistograms(max_slices)
        self._tpot = SliceHistograms(max_slices)
        self._histograms = (self._ttft, self._itl, self._tpot)
        self._at_ns, self._tokens = array("q"), array("q")
        self._sent_ns, self._done_ns = array("q"), array("q")
        self._last_ns = 0

    def state(self) -> SlicesState:
        """What was counted so far, as a value that can be sent to another process."""
        self._flush()
        return SlicesState(
            length_ns=self.length_ns,
            last_ns=self._last_ns,
            counts={name: counts.tolist() for name, counts in self._counts.items()},
            histograms=[histograms.state() for histograms in self._histograms],
            sent_ns=self._sent_ns.tobytes(),
            done_ns=self._done_ns.tobytes(),
        )

    def merge(self, other: SlicesState) -> None:
        """Add the state of another with as many slices. The longer slices of the two hold."""
        self._flush()
        if other.length_ns < self.length_ns:
            other = self._lengthened(other)
        while self.length_ns < other.length_ns:
            self._pair()
        self._last_ns = max(self._last_ns, other.last_ns)
        for name, counts in self._counts.items():
            counts += np.array(other.counts[name], np.int64)
        for histograms, packed in zip(self._histograms, other.histograms, strict=True):
            histograms.merge(packed)
        self._sent_ns.frombytes(other.sent_ns)
        self._done_ns.frombytes(other.done_ns)

    def _lengthened(self, state: SlicesState) -> SlicesState:
        """The same with slices as long as ours."""
        twin = Slices(self._ttft_series, self._max_slices)
        while twin.length_ns < state.length_ns:
            twin._pair()
        twin.merge(state)
        while twin.length_ns < self.length_ns:
            twin._pair()
        return twin.state()

    def add(self, record: Record, *, good: bool) -> None:
        """Put a request where it belongs in time.

        Args:
            record: The request.
            good: Whether it is a measured one that met its objectives.
        """
        self._reach(record)
        self._count("completed", record.done_ns, record.outcome.succeeded)
        self._count("failed", record.done_ns, record.outcome.failed)
        self._count("good", record.due_ns, good)
        if record.sent_ns is not None:
            self._count("sent", record.sent_ns, 1)
            self._sent_ns.append(record.sent_ns)
            self._done_ns.append(record.done_ns)
        if not record.outcome.failed:
            self._add_tokens(record)
        self._tend()

    def _add_tokens(self, record: Record) -> None:
        at_ns, tokens = token_arrivals(record)
        self._at_ns.frombytes(at_ns.tobytes())
        self._tokens.frombytes(tokens.tobytes())
        if record.chunk_ns:
            self._count("input_tokens", record.chunk_ns[0], record.prompt_tokens or 0)
        if record.outcome.succeeded:
            self._add_latencies(record)

    def _add_latencies(self, record: Record) -> None:
        ttft = _TTFT.values(record, self._ttft_series.start_ns(record))
        if not isinstance(ttft, Missing):
            self._ttft.add(record.chunk_ns[:1], ttft)
        tpot = _TPOT.values(record, 0)
        if not isinstance(tpot, Missing):
            self._tpot.add([record.done_ns], tpot)
        gaps = _ITL.values(record, 0)
        if not isinstance(gaps, Missing):
            self._itl.add(record.arrivals_ns[1:], gaps, record.chunk_tokens[1:])

    def _tend(self) -> None:
        """Do a little of what has to be done now and then: all at once would hold up the event loop."""
        if len(self._tokens) >= _MANY:
            self._flush_tokens()
            return
        for histograms in self._histograms:
            histograms.tend(self.length_ns)

    def _flush(self) -> None:
        self._flush_tokens()
        for histograms in self._histograms:
            histograms.flush(self.length_ns)

    def _flush_tokens(self) -> None:
        if self._tokens:
            slots = np.floor_divide(self._at_ns, self.length_ns)
            counted = np.bincount(slots, weights=self._tokens, minlength=self._max_slices)
            self._counts["output_tokens"] += counted.astype(np.int64)
            self._at_ns, self._tokens = array("q"), array("q")

    def _count(self, name: str, at_ns: int, count: int) -> None:
        self._counts[name][at_ns // self.length_ns] += count

    def _reach(self, record: Record) -> None:
        """Make the slices long enough for every time of the record."""
        last_ns = max(record.done_ns, record.due_ns, *record.chunk_ns[-1:])
        self._last_ns = max(self._last_ns, last_ns)
        while last_ns // self.length_ns >= self._max_slices:
            self._flush()
            self._pair()

    def _pair(self) -> None:
        """Make one slice of every two. There must be nothing left to flush."""
        self.length_ns *= 2
        self._counts = {name: _paired(counts) for name, counts in self._counts.items()}
        for histograms in self._histograms:
            histograms.pair()

    def counts(self, name: str, start_ns: int, end_ns: int) -> IntArray:
        """The counts of the whole slices between two instants: one of ``good``, ``completed``, ...."""
        self._flush()
        first, last = -(-start_ns // self.length_ns), end_ns // self.length_ns
        return self._counts[name][first : max(first, last)]

    def lifetimes(self) -> tuple[IntArray, IntArray]:
        """When each request that was sent was sent, in this order, and when it was over, ns."""
        sent_ns, done_ns = np.array(self._sent_ns, np.int64), np.array(self._done_ns, np.int64)
        order = np.lexsort((done_ns, sent_ns))
        return sent_ns[order], done_ns[order]

    def points(self) -> tuple[TimePoint, ...]:
        """One point a slice, up to the last thing that happened; at least one."""
        self._flush()
        num = self._last_ns // self.length_ns + 1
        in_flight = peaks_in_flight(self._sent_ns, self._done_ns, np.arange(num + 1) * self.length_ns)
        return tuple(self._point(i, int(in_flight[i])) for i in range(num))

    def _point(self, i: int, in_flight: int) -> TimePoint:
        return TimePoint(
            start_s=i * self.length_ns / 1e9,
            length_s=self.length_ns / 1e9,
            in_flight=in_flight,
            sent=int(self._counts["sent"][i]),
            completed=int(self._counts["completed"][i]),
            failed=int(self._counts["failed"][i]),
            output_tokens=int(self._counts["output_tokens"][i]),
            ttft=self._ttft.percentiles(i),
            itl=self._itl.percentiles(i),
            tpot=self._tpot.percentiles(i),
        )


def _paired(counts: IntArray) -> IntArray:
    return np.concatenate([counts.reshape(-1, 2).sum(axis=1), np.zeros(counts.size // 2, np.int64)])
