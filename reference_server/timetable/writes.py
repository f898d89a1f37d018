"""An answer as a sequence of writes: when, which bytes, how many tokens they complete.

``(due_ns, data, num_tokens)`` is one write. Plain generators, each with one thing to do, are put one after
the other as the script wants; an ordinary stream passes none but the first and the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reference_server.timetable.events import Events

if TYPE_CHECKING:
    from reference_server.timetable.content import Content
    from reference_server.timetable.http_response import BodyCoding

Write = tuple[int, bytes, int]
Writes = Iterator[Write]


def stream_writes(content: Content, start_ns: int, coding: BodyCoding) -> Writes:
    """All writes of a stream whose service starts at ``start_ns`` (monotonic)."""
    script, events = content.script, Events(content)
    writes = _events(content, events, start_ns)
    if script.coalesce > 1:
        writes = coalesced(writes, script.coalesce)
    if script.keepalive:
        writes = with_comments(writes, events.comment(), start_ns, script.keepalive)
    if script.split > 1:
        writes = split(writes, script.split, script.split_gap)
    return framed(writes, coding, ends=not content.plan.ends_silently)


def coalesced(writes: Writes, num_events: int) -> Writes:
    """So many token-bearing events in one write, when the last of them is due."""
    held, tokens, count, due_ns = b"", 0, 0, 0
    for due, data, num_tokens in writes:
        if not num_tokens and held:
            yield due_ns, held, tokens
            held, tokens, count = b"", 0, 0
        held, tokens, due_ns = held + data, tokens + num_tokens, due
        count += 1
        if count == num_events or not num_tokens:
            yield due_ns, held, tokens
            held, tokens, count = b"", 0, 0
    if held:
        yield due_ns, held, tokens


def with_comments(writes: Writes, comment: bytes, start_ns: int, every_ns: int) -> Writes:
    """Comments at even intervals, until the last write."""
    comment_ns = start_ns + every_ns
    for write in writes:
        while comment_ns < write[0]:
            yield comment_ns, comment, 0
            comment_ns += every_ns
        yield write


def split(writes: Writes, num_pieces: int, gap_ns: int) -> Writes:
    """Each write in pieces of nearly equal length; the last piece completes its tokens."""
    for due_ns, data, num_tokens in writes:
        pieces = min(num_pieces, len(data))
        cuts = [len(data) * i // pieces for i in range(pieces + 1)]
        for i in range(pieces):
            complete = i == pieces - 1
            yield due_ns + i * gap_ns, data[cuts[i] : cuts[i + 1]], num_tokens if complete else 0


def framed(writes: Writes, coding: BodyCoding, *, ends: bool) -> Writes:
    """Every write in its transfer coding, and in the end what ends the body."""
    due_ns = 0
    for due_ns, data, num_tokens in writes:
        yield due_ns, coding.frame(data), num_tokens
    if ends and coding.ending:
        yield due_ns, coding.ending, 0


def _events(content: Content, events: Events, start_ns: int) -> Writes:
    script, plan = content.script, content.plan
    lead = events.role() if content.ask.chat and script.role != "off" else b""
    if lead and script.role == "arrival":
        yield start_ns, lead, 0
        lead = b""
    due_ns, position = start_ns + plan.ttft_ns, 0
    finish_at = plan.num_sent if plan.ends_well and script.finish == "last" else -1
    for size, offset_ns in zip(plan.sizes(), plan.offsets_ns(), strict=False):
        due_ns = start_ns + offset_ns
        event = events.tokens(position, size, last=position + size == finish_at)
        yield due_ns, lead + event, size
        lead = b""
        position += size
    closing = lead + _closing(content, events)
    if closing:
        yield due_ns, closing, 0


def _closing(content: Content, events: Events) -> bytes:
    """The events after the last token."""
    script, plan = content.script, content.plan
    if plan.ends_silently:
        return b""
    done = events.done() if script.done else b""
    if not plan.ends_well:
        return events.error() + done
    finish = events.finish() if script.finish == "separate" or not plan.num_sent else b""
    return finish + (events.usage() if content.ask.usage else b"") + done
