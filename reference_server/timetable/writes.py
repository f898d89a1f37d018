"""An answer as a sequence of writes: when, which bytes, how many tokens they complete.

``(due_ns, data, num_tokens)`` is one write. Plain generators, each with one thing to do, are put one after
the other as the script wants; an ordinary stream passes none but the first and the last. Where the connection
carries out runs, its alike events are one step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reference_server.timetable.events import Events
from reference_server.timetable.http_response import CHUNKED
from reference_server.timetable.run import Run

if TYPE_CHECKING:
    from reference_server.timetable.content import Content
    from reference_server.timetable.http_response import BodyCoding

Write = tuple[int, bytes, int]
Writes = Iterator[Write]
Steps = Iterator[Write | Run]

_MIN_EVENTS = 3


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


def can_run(content: Content) -> bool:
    """True if the events of the answer are alike from the second on, and evenly spaced."""
    ask, script, plan = content.ask, content.script, content.plan
    is_formed = script.coalesce > 1 or script.keepalive or script.split > 1 or script.tokens_per_chunk > 1
    varies = ask.token_ids or ask.running_usage or content.calls_tool or plan.num_thoughts
    is_even = script.gap_distribution == "constant" or not script.gap
    return is_even and not is_formed and not varies and plan.num_sent >= _MIN_EVENTS


def stream_in_runs(content: Content, start_ns: int) -> Steps:
    """The same stream in chunks of HTTP, all events between the first and the last as one run."""
    script, plan, events = content.script, content.plan, Events(content)
    first_ns, gap_ns, num_sent = start_ns + plan.ttft_ns, script.gap, plan.num_sent
    finishes = _finish_at(content) == num_sent
    num_events = num_sent - 1 - finishes
    role = _role(content, events)
    if role and script.role == "arrival":
        yield start_ns, CHUNKED.frame(role), 0
        role = b""
    yield first_ns, CHUNKED.frame(role + events.tokens(0, 1, last=False)), 1
    yield Run(
        first_ns + gap_ns,
        gap_ns,
        num_events,
        events.answer.before,
        events.answer.plain_end,
        plan.text_offset + 1,
    )
    last_ns = first_ns + gap_ns * (num_sent - 1)
    if finishes:
        yield last_ns, CHUNKED.frame(events.tokens(num_sent - 1, 1, last=True)), 1
    if not plan.ends_silently:
        closing = _closing(content, events)
        yield last_ns, (CHUNKED.frame(closing) if closing else b"") + CHUNKED.ending, 0


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
    plan, finish_at = content.plan, _finish_at(content)
    lead = _role(content, events)
    if lead and content.script.role == "arrival":
        yield start_ns, lead, 0
        lead = b""
    due_ns, position = start_ns + plan.ttft_ns, 0
    for size, offset_ns in zip(plan.sizes(), plan.offsets_ns(), strict=False):
        due_ns = start_ns + offset_ns
        event = events.tokens(position, size, last=position + size == finish_at)
        yield due_ns, lead + event, size
        lead = b""
        position += size
    closing = lead + _closing(content, events)
    if closing:
        yield due_ns, closing, 0


def _role(content: Content, events: Events) -> bytes:
    """The event with the role, if there is one."""
    return events.role() if content.ask.chat and content.script.role != "off" else b""


def _finish_at(content: Content) -> int:
    """The number of tokens with whose event the finish_reason rides, -1 for none."""
    return content.plan.num_sent if content.plan.ends_well and content.script.finish == "last" else -1


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
