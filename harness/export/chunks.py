"""A row for each token-bearing event of each request: every stamp of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports.tables import Column, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.export._run import ExportedRun
    from reports.tables import Row

MEANING: Final = "A token-bearing event. Those of a request stand together, in order of arrival."
_COLUMNS: Final = (
    Column("index", Kind.INTEGER, "Position of the request in the schedule."),
    Column("chunk", Kind.INTEGER, "Position of the event in the answer, from 0."),
    Column("at_ns", Kind.INTEGER, "Arrival, after the start of the run."),
    Column("since_sent_ns", Kind.INTEGER, "Arrival, after the sending of the request (service basis)."),
    Column("gap_ns", Kind.INTEGER, "Since the chunk before; missing for the first. 0: the same socket read."),
    Column("tokens", Kind.INTEGER, "Tokens in it; 1 where `tokens_exact` is false."),
    Column(
        "tokens_exact", Kind.TRUTH, "Whether the server said how many (token ids, usage, log-probabilities)."
    ),
    Column(
        "is_answer",
        Kind.TRUTH,
        "Whether it comes at or after the first chunk of the answer, not of a thought.",
    ),
)


def columns() -> tuple[Column, ...]:
    """See ``harness.export``."""
    return _COLUMNS


def rows(run: ExportedRun) -> Iterator[Row]:
    """See ``harness.export``."""
    for record in run.records():
        sent_ns, before_ns, first_answer = record.sent_ns, None, record.answer_index
        for chunk, (at_ns, tokens) in enumerate(zip(record.chunk_ns, record.chunk_tokens, strict=True)):
            yield (
                record.index,
                chunk,
                at_ns,
                None if sent_ns is None else at_ns - sent_ns,
                None if before_ns is None else at_ns - before_ns,
                tokens,
                record.chunk_tokens_exact,
                first_answer is not None and chunk >= first_answer,
            )
            before_ns = at_ns
