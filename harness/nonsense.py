"""What no request can have been: rules that every record keeps, and a line of a changed journal may not.

That single numbers are counts or times is in the record's own types. These rules hold numbers against each
other, each of them by what Python does in one call, however many chunks there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.record import MAX_COUNT

if TYPE_CHECKING:
    from harness.record import Record

EARLY_NS: Final = 1_000_000
"""So much before its time a request may be sent: timers of event loops count in milliseconds."""
MAX_TOKENS: Final = 1 << 24
"""Of one answer: more than any model's context holds."""


def nonsense(record: Record) -> str | None:
    """What is impossible in a record; None where nothing is."""
    return _in_chunks(record) or _in_times(record)


def _in_chunks(record: Record) -> str | None:
    num = len(record.chunk_ns)
    if num != len(record.chunk_tokens):
        return f"{num} chunk_ns and {len(record.chunk_tokens)} chunk_tokens"
    if record.answer_index is not None and record.answer_index >= num:
        return f"answer_index {record.answer_index} of {num} chunks"
    if record.coalesced_chunks > num:
        return f"coalesced_chunks {record.coalesced_chunks} of {num}"
    if record.chunk_ns != sorted(record.chunk_ns):
        return "chunk_ns don't rise"
    if num and record.chunk_ns[-1] > MAX_COUNT:
        return f"chunk_ns up to {record.chunk_ns[-1]}"
    return "chunk_tokens are more than any context holds" if sum(record.chunk_tokens) > MAX_TOKENS else None


def _in_times(record: Record) -> str | None:
    sent_ns = record.sent_ns
    if sent_ns is None:
        is_answered = record.headers_ns is not None or bool(record.chunk_ns)
        return "an answer to what was never sent" if is_answered else None
    if sent_ns < record.due_ns - EARLY_NS:
        return "sent_ns before due_ns"
    if record.headers_ns is not None and record.headers_ns < sent_ns:
        return "headers_ns before sent_ns"
    if record.chunk_ns and record.chunk_ns[0] < sent_ns:
        return "chunk_ns before sent_ns"
    return "done_ns before sent_ns" if record.done_ns < sent_ns else None
