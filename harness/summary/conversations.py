"""Requests by their turn in a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from harness.counting import add_counts, counts_of
from harness.metrics import Missing, metric
from harness.recorder import step
from harness.series import RESPONSE, series_of
from harness.summary.metric_summaries import percentile_of
from reports.conversations import Conversations, TurnSummary
from reports.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.record import Record

MAX_GROUPS: Final = 8
"""Turns 1, 2, 3 to 4, 5 to 8, ..., 65 and later."""
_PERCENTILES: Final = (50.0, 95.0, 99.0)
_TTFT: Final = metric("ttft")
_COUNTS: Final = ("_num_begun", "_num_broken", "_num_unsent", "_num_expected", "_num_later", "_num_cut")
_UNIT_NS: Final = step(_TTFT.unit)


class TurnsState(msgspec.Struct, frozen=True, kw_only=True):
    """What a ``Turns`` has counted; the histogram packed."""

    counts: dict[str, int]
    ttft: bytes


class ConversationsState(msgspec.Struct, frozen=True, kw_only=True):
    """What a ``ConversationTable`` has counted."""

    counts: dict[str, int]
    turns: dict[int, TurnsState]


class Turns:
    """The measured requests of some turns: counts, tokens and a histogram of TTFT."""

    counted: ClassVar = (
        "num_requests",
        "num_failed",
        "num_prompts",
        "prompt_tokens",
        "known_tokens",
        "cached_tokens",
        "num_cached",
    )

    def __init__(self) -> None:
        self.num_requests = self.num_failed = 0
        self.num_prompts = self.prompt_tokens = 0
        self.num_cached = self.known_tokens = self.cached_tokens = 0
        self.ttft = Histogram()

    def add(self, record: Record, start_ns: int) -> None:
        """Count a request that succeeded or failed."""
        self.num_requests += 1
        self.num_failed += record.outcome.failed
        if not record.outcome.succeeded:
            return
        if record.prompt_tokens is not None:
            self._add_prompt(record.prompt_tokens, record.cached_tokens)
        values = _TTFT.values(record, start_ns)
        if not isinstance(values, Missing):
            self.ttft.record(min(round(values[0] / _UNIT_NS), self.ttft.layout.highest))

    def _add_prompt(self, tokens: int, cached: int | None) -> None:
        self.num_prompts += 1
        self.prompt_tokens += tokens
        if cached is not None:
            self.num_cached += 1
            self.known_tokens += tokens
            self.cached_tokens += cached

    def state(self) -> TurnsState:
        """What was counted so far, as a value that can be sent to another process."""
        return TurnsState(counts=counts_of(self, self.counted), ttft=self.ttft.pack())

    def merge(self, other: TurnsState) -> None:
        """Add the state of another."""
        add_counts(self, self.counted, other.counts)
        self.ttft.merge(Histogram.unpack(other.ttft))

    def summary(self, first: int, last: int | None, confidence: float) -> TurnSummary:
        """In numbers."""
        return TurnSummary(
            first=first,
            last=last,
            num_requests=self.num_requests,
            num_failed=self.num_failed,
            prompt_tokens=self.prompt_tokens / self.num_prompts if self.num_prompts else None,
            n=self.ttft.n,
            ttft=tuple(percentile_of(self.ttft, p, _UNIT_NS, confidence) for p in _PERCENTILES)
            if self.ttft.n
            else (),
            cached_share=self.cached_tokens / self.known_tokens if self.known_tokens else None,
        )


class ConversationTable:
    """Counts of conversations, and their requests by turn. Memory is bounded, whatever the run.

    Args:
        loop: ``open`` or ``closed``.
    """

    def __init__(self, loop: str) -> None:
        self._series = series_of("ttft", RESPONSE, loop)
        self._num_begun = self._num_broken = self._num_unsent = 0
        self._num_expected = self._num_later = self._num_cut = 0
        self._turns: dict[int, Turns] = {}

    def add(self, record: Record, *, measured: bool) -> None:
        """Look at one request; one that stands by itself is passed over."""
        if record.turn is None or record.num_turns is None:
            return
        self._num_begun += record.turn == 1
        self._num_later += record.turn > 1
        if record.turn < record.num_turns:
            self._add_end(record, record.num_turns - record.turn)
        if measured:
            group = self._turns.setdefault(group_of(record.turn), Turns())
            group.add(record, self._series.start_ns(record))

    def _add_end(self, record: Record, num_to_come: int) -> None:
        """A turn after which others were to come."""
        self._num_expected += record.outcome.succeeded
        self._num_cut += record.was_cut_off
        if not record.outcome.succeeded and not record.was_cut_off:
            self._num_broken += 1
            self._num_unsent += num_to_come

    def state(self) -> ConversationsState:
        """What was counted so far, as a value that can be sent to another process."""
        turns = {group: turns.state() for group, turns in self._turns.items()}
        return ConversationsState(counts=counts_of(self, _COUNTS), turns=turns)

    def merge(self, other: ConversationsState) -> None:
        """Add the state of another."""
        add_counts(self, _COUNTS, other.counts)
        for group, turns in other.turns.items():
            self._turns.setdefault(group, Turns()).merge(turns)

    def summary(self, confidence: float) -> Conversations | None:
        """In numbers; None where there was no conversation."""
        if not self._num_begun and not self._num_later:
            return None
        return Conversations(
            num_begun=self._num_begun,
            num_broken=self._num_broken,
            num_unsent=self._num_unsent,
            num_unfinished=self._num_expected - self._num_later + self._num_cut,
            turns=tuple(
                turns.summary(*turns_of(group), confidence) for group, turns in sorted(self._turns.items())
            ),
            later=self._later(confidence),
        )

    def _later(self, confidence: float) -> TurnSummary | None:
        together, groups = Turns(), [turns for group, turns in self._turns.items() if group]
        for turns in groups:
            together.merge(turns.state())
        return together.summary(2, None, confidence) if groups else None

    def notes(self) -> Iterator[str]:
        """What a reader must know."""
        if self._num_broken:
            yield (
                f"{self._num_broken} conversations ended with a turn that failed or was cancelled: "
                f"{self._num_unsent} later turns of theirs were not sent"
            )
        if unfinished := self._num_expected - self._num_later + self._num_cut:
            yield f"{unfinished} conversations had turns to come when the run ended"


def group_of(turn: int) -> int:
    """The group of a turn: 0 for the first, 1 for the second, then each twice as large as the one before."""
    return min((turn - 1).bit_length(), MAX_GROUPS - 1)


def turns_of(group: int) -> tuple[int, int | None]:
    """First and last turn of a group; the last group has no end."""
    first = 1 if not group else (1 << (group - 1)) + 1
    return first, None if group == MAX_GROUPS - 1 else 1 << group
