"""A row for each request: its instants, its counts, what became of it, and its metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from harness import metrics
from harness.metrics import Missing, RequestMetric, Unit
from harness.series import BASES, RESPONSE, SERVICE, series_of
from reports.tables import Column, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from harness.export._run import ExportedRun
    from harness.record import Record
    from reports.tables import Row, Value

MEANING: Final = "A request, in the order in which they ended."
_SUFFIX: Final = {Unit.NS: "_ns", Unit.TOKENS_PER_SECOND: "_tokens_per_s"}
_START: Final = {
    RESPONSE: "counted from `due_ns` (in a closed loop from `sent_ns`)",
    SERVICE: "counted from `sent_ns`",
}


class _Plain(NamedTuple):
    column: Column
    value: Callable[[Record], Value]


class _Timed(NamedTuple):
    column: Column
    metric: RequestMetric
    basis: str | None

    def of(self, loop: str) -> Callable[[Record], Value]:
        """The column's value of a request; None where it has none, as every failure."""
        if loop != "open" and self.metric.name == "schedule_lag":
            return lambda _: None
        series = series_of(self.metric.name, self.basis, loop)

        def value(record: Record) -> Value:
            if not record.outcome.succeeded:
                return None
            found = self.metric.value(record, series.start_ns(record))
            return None if isinstance(found, Missing) else float(found)

        return value


def _integer(name: str, meaning: str, value: Callable[[Record], int | None]) -> _Plain:
    return _Plain(Column(name, Kind.INTEGER, meaning), value)


def _text(name: str, meaning: str, value: Callable[[Record], str | None]) -> _Plain:
    return _Plain(Column(name, Kind.TEXT, meaning), value)


_PLAIN: Final = (
    _integer("index", "Position in the schedule.", lambda r: r.index),
    _integer(
        "due_ns", "When it was to be sent; in a closed loop, when its slot became free.", lambda r: r.due_ns
    ),
    _integer("sent_ns", "When its bytes were handed to the kernel; missing if never.", lambda r: r.sent_ns),
    _integer("headers_ns", "When the response head had been received.", lambda r: r.headers_ns),
    _integer(
        "first_chunk_ns", "Arrival of the first token.", lambda r: r.chunk_ns[0] if r.chunk_ns else None
    ),
    _integer("last_chunk_ns", "Arrival of the last one.", lambda r: r.chunk_ns[-1] if r.chunk_ns else None),
    _integer("done_ns", "`[DONE]`, the clean end, or the failure.", lambda r: r.done_ns),
    _integer("connect_ns", "Length of opening a new connection, 0 on a reused one.", lambda r: r.connect_ns),
    _text("outcome", "What became of it, as in definitions.md.", lambda r: r.outcome.value),
    _text("detail", "The sub-class of a failure.", lambda r: r.detail),
    _integer("status", "HTTP status.", lambda r: r.status),
    _text("finish_reason", "As the server said.", lambda r: r.finish_reason),
    _Plain(Column("streamed", Kind.TRUTH, "False for an answer in one piece."), lambda r: r.streamed),
    _integer("prompt_tokens", "From usage, else from the prompt's source.", lambda r: r.prompt_tokens),
    _integer("output_tokens", "As counted; `token_source` says how.", lambda r: r.output_tokens),
    _text("token_source", "`usage`, `token_ids`, `tokenizer` or `chunks`.", lambda r: r.token_source),
    _integer("usage_tokens", "Output tokens as the server's usage said.", lambda r: r.usage_tokens),
    _integer("cached_tokens", "Prompt tokens from the prefix cache, as it said.", lambda r: r.cached_tokens),
    _integer(
        "reasoning_tokens", "Those spent on reasoning, within the output.", lambda r: r.reasoning_tokens
    ),
    _integer("num_chunks", "Token-bearing events.", lambda r: len(r.chunk_ns)),
    _integer("coalesced_chunks", "Of them, in one read with the one before.", lambda r: r.coalesced_chunks),
    _integer("conversation", "The conversation it belongs to.", lambda r: r.conversation),
    _integer("turn", "Its turn there, from 1.", lambda r: r.turn),
    _text("request_id", "Sent as `X-Request-Id`.", lambda r: r.request_id),
    _text("server_id", "The `id` of the server's answer.", lambda r: r.server_id),
    _text("message", "The failure in words, secrets masked.", lambda r: r.message),
)
_MEASURED: Final = Column(
    "measured", Kind.TRUTH, "Whether it was due in the measured window and neither cut nor cancelled."
)


def _timed() -> Iterator[_Timed]:
    for metric in metrics.every_metric():
        if not isinstance(metric, RequestMetric) or metric.unit not in _SUFFIX:
            continue
        said = (type(metric).__doc__ or "").splitlines()[0].rstrip(".").replace("``", "`")
        for basis in BASES if metric.has_bases else (None,):
            name = f"{metric.name if basis is None else f'{basis}_{metric.name}'}{_SUFFIX[metric.unit]}"
            start = "" if basis is None else f", {_START[basis]}"
            yield _Timed(Column(name, Kind.NUMBER, f"{said}{start}. Successes only."), metric, basis)


def columns() -> tuple[Column, ...]:
    """See ``harness.export``."""
    return (*(each.column for each in _PLAIN), _MEASURED, *(each.column for each in _timed()))


def rows(run: ExportedRun) -> Iterator[Row]:
    """See ``harness.export``."""
    plain = tuple(each.value for each in _PLAIN)
    timed = tuple(each.of(run.loop) for each in _timed())
    window = run.window
    for record in run.records():
        counts = record.outcome.succeeded or record.outcome.failed
        yield (
            *[value(record) for value in plain],
            counts and window.measures(record),
            *[value(record) for value in timed],
        )
