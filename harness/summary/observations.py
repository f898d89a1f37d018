"""What a reader must know about the numbers: where tokens were counted, what was left out, what was cold."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from harness.counting import add_counts, counts_of
from harness.record import CANCELLED, Outcome, TokenSource
from harness.summary.prompt_lengths import PromptLengths
from harness.timeline import END_WAIT_NS
from scenarios.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.record import Record

_DISAGREEMENT: Final = 0.02
_MANY_COALESCED: Final = 0.05
_COUNTS: Final = (
    "_num_stalls",
    "_num_stalled",
    "_num_succeeded",
    "_num_cold",
    "_cold_ns",
    "_num_unmeasured",
    "_num_cancelled",
    "_num_in_one_piece",
    "_usage_tokens",
    "_tokens_in_chunks",
    "_num_exact",
    "_num_assumed",
    "_num_chunks",
    "_num_coalesced",
    "_num_estimated",
    "_num_odd_usages",
    "_num_resent",
    "_num_left_open",
)
_CONNECTING: Final = {
    "open": "part of their response times and not of their service times",
    "closed": "part of none of their times: in a closed loop these begin with the sending",
}
_WORDS: Final = {
    TokenSource.USAGE: "the server's usage",
    TokenSource.TOKEN_IDS: "the token ids the server sent",
    TokenSource.TOKENIZER: "a local tokenizer (an estimate)",
    TokenSource.CHUNKS: "chunks, one token each (an estimate)",
}

_ESTIMATES: Final = (TokenSource.TOKENIZER, TokenSource.CHUNKS)


class ObservationState(msgspec.Struct, frozen=True, kw_only=True):
    """What ``Observations`` hold.

    Attributes:
        counts: Plain counts by name.
        outcomes: Requests by outcome.
        sources: Requests by where their tokens were counted.
        added: Requests by the tokens that the server added to their prompts.
    """

    counts: dict[str, int]
    outcomes: dict[str, int]
    sources: dict[TokenSource, int]
    added: dict[int, int] = {}


class Observations:
    """Collected over the whole run.

    Args:
        stall_limit_ns: A gap between chunks longer than this is a stall; None to count none.
    """

    def __init__(self, stall_limit_ns: int | None = None) -> None:
        self._stall_limit_ns = stall_limit_ns
        self._num_stalls = self._num_stalled = 0
        self.outcomes: Counter[str] = Counter()
        self._sources: Counter[TokenSource] = Counter()
        self._prompt_lengths = PromptLengths()
        self._num_succeeded = self._num_estimated = 0
        self._num_cold = self._cold_ns = 0
        self._num_unmeasured = self._num_cancelled = 0
        self._num_in_one_piece = 0
        self._usage_tokens = self._tokens_in_chunks = 0
        self._num_exact = self._num_assumed = 0
        self._num_chunks = self._num_coalesced = 0
        self._num_odd_usages = self._num_resent = self._num_left_open = 0

    def add(self, record: Record, *, measured: bool) -> None:
        """Look at one request."""
        self.outcomes[record.outcome.value] += 1
        self._num_cancelled += record.outcome is Outcome.CUT and record.detail == CANCELLED
        self._num_unmeasured += not measured and record.outcome is not Outcome.CUT
        self._num_odd_usages += record.usage_left_out
        self._num_resent += record.num_resends > 0
        self._num_left_open += record.body_left_open
        if not record.outcome.succeeded:
            return
        self._num_succeeded += 1
        self._num_cold += record.connect_ns > 0
        self._cold_ns += record.connect_ns
        self._num_in_one_piece += not record.streamed
        if record.token_source is not None and record.output_tokens:
            self._sources[record.token_source] += 1
            self._num_estimated += record.output_is_estimate
        self._prompt_lengths.add(record)
        if record.chunk_ns:
            self._add_chunks(record)

    def _add_chunks(self, record: Record) -> None:
        self._num_chunks += len(record.chunk_ns)
        self._num_coalesced += record.coalesced_chunks
        self._add_stalls(record)
        if record.chunk_tokens_exact:
            self._num_exact += 1
            return
        self._num_assumed += 1
        if record.usage_tokens is not None:
            self._usage_tokens += record.usage_tokens
            self._tokens_in_chunks += sum(record.chunk_tokens)

    def _add_stalls(self, record: Record) -> None:
        if self._stall_limit_ns is None:
            return
        num = int((record.gaps_ns > self._stall_limit_ns).sum())
        self._num_stalls += num
        self._num_stalled += num > 0

    def state(self) -> ObservationState:
        """What was seen so far, as a value that can be sent to another process."""
        return ObservationState(
            counts=counts_of(self, _COUNTS),
            outcomes=dict(self.outcomes),
            sources=dict(self._sources),
            added=self._prompt_lengths.state(),
        )

    def merge(self, other: ObservationState) -> None:
        """Add the state of another."""
        add_counts(self, _COUNTS, other.counts)
        self.outcomes.update(other.outcomes)
        self._sources.update(other.sources)
        self._prompt_lengths.merge(other.added)

    @property
    def token_source(self) -> str:
        """``usage``, ``token_ids``, ``tokenizer``, ``chunks`` or ``mixed``; ``none`` without a token."""
        if len(self._sources) > 1:
            return "mixed"
        return next((source.value for source in self._sources), "none")

    @property
    def estimate(self) -> str | None:
        """How many requests have an estimated number of output tokens; None if none has."""
        if not self._num_estimated:
            return None
        num = self._sources.total()
        how = " and ".join(sorted(_WORDS[source] for source in self._sources if source in _ESTIMATES))
        return f"the output tokens of {self._num_estimated} of {num} requests were counted by {how}"

    def notes(self, loop: str = "open") -> tuple[str, ...]:
        """One sentence each, for a run of that loop."""
        return (
            *self._token_notes(),
            *self._odd_usages(),
            *self._prompt_lengths.notes(),
            *self._disagreement(),
            *self._left_out(),
            *self._stalls(),
            *self._connections(loop),
            *self._closings(),
            *self._coalesced(),
        )

    def _token_notes(self) -> Iterator[str]:
        if len(self._sources) == 1:
            yield f"output tokens counted by {_WORDS[next(iter(self._sources))]}"
        elif self._sources:
            order = sorted(self._sources.items(), key=lambda item: (-item[1], item[0]))
            parts = (f"{_WORDS[source]} ({num} requests)" for source, num in order)
            yield "output tokens counted by " + ", ".join(parts)
        if not self._has_gaps:
            return
        if self._num_assumed and not self._num_exact:
            yield "itl takes each chunk for one token: the server doesn't say how many a chunk holds"
        elif self._num_assumed:
            yield f"itl takes each chunk for one token in {self._num_assumed} requests; in the rest it knows"

    def _odd_usages(self) -> Iterator[str]:
        if num := self._num_odd_usages:
            yield f"the server's usage of {_counted(num, 'answer')} was no count of tokens and was left out"

    @property
    def _has_gaps(self) -> bool:
        return self._num_chunks > self._num_exact + self._num_assumed

    def _disagreement(self) -> Iterator[str]:
        usage, chunks = self._usage_tokens, self._tokens_in_chunks
        if abs(usage - chunks) > _DISAGREEMENT * usage:
            yield (
                f"usage and chunks disagree: {usage} tokens in {chunks} chunks; tpot and rates follow usage, "
                "itl and chunk_gap the chunks, so don't take a chunk_gap for the time of one token"
            )

    def _left_out(self) -> Iterator[str]:
        if self._num_unmeasured:
            yield f"{self._num_unmeasured} requests were due in warm-up or cool-down and are not measured"
        if self._num_cancelled:
            yield (
                f"{self._num_cancelled} requests were cancelled on purpose: in no latency and no error rate, "
                "their tokens count in rates"
            )
        if cut := self.outcomes[Outcome.CUT] - self._num_cancelled:
            yield f"{cut} requests were cut off by the end of the run: in no latency and no error rate"
        if empty := self.outcomes[Outcome.OK_EMPTY]:
            yield f"{empty} of {self._num_succeeded} answers held no token: in no statistics of tokens"
        if self._num_in_one_piece:
            yield (
                f"{self._num_in_one_piece} of {self._num_succeeded} answers came in one piece and not as a "
                "stream: they have no ttft and no time between tokens"
            )

    def _stalls(self) -> Iterator[str]:
        if self._num_stalls and self._stall_limit_ns is not None:
            limit = format_duration(self._stall_limit_ns)
            yield f"{self._num_stalls} stalls longer than {limit} in {self._num_stalled} requests"

    def _connections(self, loop: str) -> Iterator[str]:
        if self._num_cold:
            mean_ms = self._cold_ns / self._num_cold / 1e6
            yield (
                f"{self._num_cold} of {self._num_succeeded} requests opened a new connection "
                f"({mean_ms:.3g} ms on average), which is {_CONNECTING[loop]}"
            )

    def _closings(self) -> Iterator[str]:
        if num := self._num_resent:
            yield (
                f"{_counted(num, 'request')} {'was' if num == 1 else 'were'} sent again on a new connection: "
                "the server had closed the old one; service times count from the last sending"
            )
        if num := self._num_left_open:
            yield (
                f"the HTTP bodies of {_counted(num, 'answer')} did not end with their stream: "
                f"{END_WAIT_NS / 1e6:g} ms were waited for each, then its connection was closed"
            )

    def _coalesced(self) -> Iterator[str]:
        if self._num_coalesced > _MANY_COALESCED * self._num_chunks:
            share = 100 * self._num_coalesced / self._num_chunks
            yield f"{share:.0f} % of the chunks came in one socket read with the chunk before: their gap is 0"


def _counted(num: int, noun: str) -> str:
    return f"{num} {noun}" if num == 1 else f"{num} {noun}s"
