"""Takes the records of a run, one by one, and sums them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from harness.client_error import client_error_ns
from harness.counting import add_counts, counts_of
from harness.recorder import ColumnState, Recorder
from harness.series import RESPONSE, Series, series_of
from harness.summary.attainment import Attainment
from harness.summary.class_rates import rates_by_class
from harness.summary.conversations import ConversationsState, ConversationTable
from harness.summary.due_order import DueOrder, DueOrderState
from harness.summary.error_table import ErrorState, ErrorTable
from harness.summary.metric_summaries import metric_summaries
from harness.summary.observations import Observations, ObservationState
from harness.summary.pace import Pace, PaceState
from harness.summary.request_rows import RequestRows, RowsState
from harness.summary.slices import Slices, SlicesState
from harness.summary.snapshot import Snapshot
from harness.summary.summary import Summary
from harness.summary.throughput import Throughput
from harness.terms import NO_TERMS
from harness.window import window_of
from reports.result import Sample

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.record import Record
    from harness.sla.rule import Rule
    from harness.summary.token_arrivals import IntArray
    from harness.terms import Terms
    from harness.window import Window
    from reports.result import ClientHealth
    from scenarios.schedule import Schedule

_MAX_TEXT: Final = 2_000
_COUNTS: Final = ("_num_succeeded", "_num_failed", "_num_cut")
_COUNTED: Final = {
    "request_rate": "completed",
    "output_token_rate": "output_tokens",
    "input_token_rate": "input_tokens",
    "goodput": "good",
}


class SummaryState(msgspec.Struct, frozen=True, kw_only=True):
    """What a ``Summarizer`` holds, each part as the state of its class."""

    counts: dict[str, int]
    ended_ns: int
    pace: PaceState
    columns: dict[str, ColumnState]
    throughput: dict[str, int]
    attainment: dict[str, int]
    slices: SlicesState
    errors: ErrorState
    rows: RowsState
    observations: ObservationState
    conversations: ConversationsState
    due_order: DueOrderState
    samples: list[Sample]
    cut_waits_ns: list[int]


class Summarizer:
    """Takes the records of a run, in any order.

    Args:
        window: What is measured.
        loop: ``open`` or ``closed``.
        capped: Whether an open loop has a cap on requests in flight.
        rules: Objectives; those of single requests decide what counts for goodput.
        max_samples: How many prompts and answers to keep.
        terms: What answers are measured by.
    """

    def __init__(
        self,
        window: Window,
        loop: str,
        *,
        capped: bool = False,
        rules: Iterable[Rule] = (),
        max_samples: int = 3,
        terms: Terms = NO_TERMS,
    ) -> None:
        self._window = window
        self._loop = loop
        self._capped = capped
        self._rules = tuple(rules)
        self._max_samples = max_samples
        self._ended_ns = 0
        self._num_succeeded = self._num_failed = self._num_cut = 0
        self._pace = Pace()
        self._recorder = Recorder(window, loop, terms)
        self._throughput = Throughput(window)
        self._attainment = Attainment(self._rules, loop, terms)
        self._slices = Slices(series_of("ttft", RESPONSE, loop))
        self._errors = ErrorTable()
        self._rows = RequestRows(loop)
        self._observations = Observations(terms.stall_limit_ns)
        self._conversations = ConversationTable(loop)
        self._due_order = DueOrder(self._rules, loop, terms)
        self._samples: list[Sample] = []
        self._cut_waits_ns: list[int] = []

    @classmethod
    def of_schedule(
        cls, schedule: Schedule, *, rules: Iterable[Rule] = (), max_samples: int = 3
    ) -> Summarizer:
        """A summarizer of the runs of that schedule, whose arrivals are not touched."""
        capped = schedule.max_in_flight is not None
        return cls(window_of(schedule), schedule.loop, capped=capped, rules=rules, max_samples=max_samples)

    @property
    def num_requests(self) -> int:
        """Records taken so far."""
        return self._rows.num_requests

    @property
    def ended_ns(self) -> int:
        """End of the last request so far; 0 for none."""
        return self._ended_ns

    def add(self, record: Record) -> None:
        """Take one request."""
        inside = self._window.measures(record)
        measured = inside and (record.outcome.succeeded or record.outcome.failed)
        self._num_succeeded += inside and record.outcome.succeeded
        self._num_failed += inside and record.outcome.failed
        if inside and record.was_cut_off:
            self._num_cut += 1
            self._cut_waits_ns.append(record.done_ns - record.due_ns)
        self._ended_ns = max(self._ended_ns, record.done_ns)
        self._pace.add(record)
        self._recorder.add(record)
        self._throughput.add(record)
        met = self._attainment.add(record) if inside else None
        if inside:
            self._due_order.add(record, met=met)
        self._slices.add(record, good=met is True)
        self._errors.add(record)
        self._rows.add(record, measured=measured)
        self._observations.add(record, measured=inside)
        self._conversations.add(record, measured=measured)
        self._keep_sample(record)

    def _keep_sample(self, record: Record) -> None:
        if record.prompt is not None and record.answer is not None:
            prompt, answer = record.prompt[:_MAX_TEXT], record.answer[:_MAX_TEXT]
            self._keep_samples(Sample(index=record.index, prompt=prompt, answer=answer))

    def _keep_samples(self, *samples: Sample) -> None:
        """Those of the first requests of the schedule, in their order."""
        together = sorted((*self._samples, *samples), key=lambda sample: sample.index)
        self._samples = together[: self._max_samples]

    def state(self) -> SummaryState:
        """What was taken so far, as a value that can be sent to another process."""
        return SummaryState(
            counts=counts_of(self, _COUNTS),
            ended_ns=self._ended_ns,
            pace=self._pace.state(),
            columns=self._recorder.state(),
            throughput=self._throughput.state(),
            attainment=self._attainment.state(),
            slices=self._slices.state(),
            errors=self._errors.state(),
            rows=self._rows.state(),
            observations=self._observations.state(),
            conversations=self._conversations.state(),
            due_order=self._due_order.state(),
            samples=self._samples,
            cut_waits_ns=self._cut_waits_ns,
        )

    def merge(self, other: SummaryState) -> None:
        """Add the state of another of the same run: as if one had taken every request, to the last bit."""
        add_counts(self, _COUNTS, other.counts)
        self._ended_ns = max(self._ended_ns, other.ended_ns)
        self._pace.merge(other.pace)
        self._recorder.merge(other.columns)
        self._throughput.merge(other.throughput)
        self._attainment.merge(other.attainment)
        self._slices.merge(other.slices)
        self._errors.merge(other.errors)
        self._rows.merge(other.rows)
        self._observations.merge(other.observations)
        self._conversations.merge(other.conversations)
        self._due_order.merge(other.due_order)
        self._keep_samples(*other.samples)
        self._cut_waits_ns += other.cut_waits_ns

    def snapshot(
        self, *, ended_ns: int | None = None, interrupted: bool = False, health: ClientHealth | None = None
    ) -> Snapshot:
        """The run as it is now.

        Args:
            ended_ns: When the run ended; None for the end of its last request.
            interrupted: Whether it was broken off.
            health: What the harness measured of itself; None where that is not known.
        """
        ended_ns = self._ended_ns if ended_ns is None else ended_ns
        start_ns, end_ns = self._window.closed(ended_ns, interrupted=interrupted)
        length_ns = end_ns - start_ns
        columns = self._recorder.columns()
        due_order = self._due_order.ordered()
        rates = (
            *self._throughput.rates(length_ns),
            *self._attainment.rates(length_ns),
            *rates_by_class(self._rules, due_order),
        )
        return Snapshot(
            loop=self._loop,
            capped=self._capped,
            window_ns=(start_ns, end_ns),
            pace=self._pace.rates() if self._loop == "open" else None,
            num_requests=self.num_requests,
            num_succeeded=self._num_succeeded,
            num_failed=self._num_failed,
            num_cut=self._num_cut,
            cut_waits_ns=tuple(sorted(self._cut_waits_ns)),
            histograms={series: column.histogram.copy() for series, column in columns.items()},
            reasons={series: column.reason for series, column in columns.items()},
            num_unfit={series: column.num_unfit for series, column in columns.items()},
            client_errors={series: self._client_error(series, health) for series in columns},
            rates={rate.name: rate for rate in rates},
            counts={rate: self._slices.counts(name, start_ns, end_ns) for rate, name in _COUNTED.items()},
            due_order=due_order,
            slice_s=self._slices.length_ns / 1e9,
            estimate=self._observations.estimate,
        )

    def _client_error(self, series: Series, health: ClientHealth | None) -> float | None:
        if health is None:
            return None
        tokens = self._recorder.histogram("output_tokens")
        mean = tokens.mean if tokens.n else None
        return client_error_ns(series, health, capped=self._capped, tokens_per_request=mean)

    def lifetimes(self) -> tuple[IntArray, IntArray]:
        """When each request that was sent was sent, and when it was over, ns, in the same order."""
        return self._slices.lifetimes()

    def summary(self, snapshot: Snapshot, confidence: float = 0.95) -> Summary:
        """Everything a report shows of the records, in agreement with ``snapshot``."""
        start_ns, end_ns = snapshot.window_ns
        return Summary(
            window_s=(start_ns / 1e9, end_ns / 1e9),
            outcomes=dict(sorted(self._observations.outcomes.items())),
            metrics=metric_summaries(snapshot, self._rules, confidence),
            rates=tuple(snapshot.rates.values()),
            errors=self._errors.classes(),
            timeline=self._slices.points(),
            requests=self._rows.rows(),
            num_requests=self.num_requests,
            samples=tuple(self._samples),
            token_source=self._observations.token_source,
            notes=(
                *self._loop_notes(),
                *self._observations.notes(self._loop),
                *self._throughput.notes(),
                *self._conversations.notes(),
                *self._attainment_notes(),
            ),
            conversations=self._conversations.summary(confidence),
        )

    def _loop_notes(self) -> tuple[str, ...]:
        if self._loop == "open":
            return ()
        return ("closed loop: no intended times, so response and service times are the same",)

    def _attainment_notes(self) -> tuple[str, ...]:
        if not self._attainment.num_unmeasurable or not self._attainment.has_objectives:
            return ()
        num = self._attainment.num_unmeasurable
        return (f"{num} requests lack a value that an objective asks for: left out of attainment",)
