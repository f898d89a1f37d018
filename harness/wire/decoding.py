"""From body bytes to an ``Answer``: a stream of events, one JSON reply, or the body of a failure."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Final

import numpy as np

from harness.wire import WireError
from harness.wire.answer import Answer
from harness.wire.aside import Aside, aside_of
from harness.wire.error_text import error_text
from harness.wire.sse import Event, EventTooLargeError, SseParser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.timeline import Timeline
    from harness.wire import Delta, Endpoint

MAX_REPLY_BYTES: Final = 16 * 1024 * 1024
MAX_ERROR_BYTES: Final = 64 * 1024
MAX_BLANK_BYTES: Final = 8 * 1024
"""So many may come before what tells the form of a body."""
MAX_CHUNKS: Final = 1_000_000
"""More than any model's context holds: a stream without end must not fill the memory."""
_DONE: Final = b"[DONE]"
_EVENT_STARTS: Final = (b"data:", b"event:", b"id:", b"retry:", b":", b"\xef\xbb\xbf")
_STREAM, _REPLY, _FAILURE, _FOREIGN = "stream", "reply", "failure", "foreign"


class Decoder:
    """Decodes one answer, piece by piece.

    Attributes:
        answer: What has come so far.
        first: The data of its first event, or the whole reply: there the server names it.
    """

    def __init__(self, endpoint: Endpoint, keep_text: bool) -> None:
        self.answer = Answer(keep_text, endpoint.streaming)
        self.first = b""
        self._decode = endpoint.decode
        self._decode_many = endpoint.decode_many
        self._sse = SseParser()
        self._form: str | None = None
        self._start = b""
        self._whole = bytearray()
        self._num_to_token = 0  # events up to the last that bore a token

    def feed(self, timeline: Timeline, stamps_ns: Sequence[int], reads: list[bytes]) -> None:
        """Take the body bytes of some socket reads, and when each came."""
        if self._form is None:
            stamps_ns, reads = self._begin(timeline, stamps_ns, reads)
        self.answer.num_bytes += sum(map(len, reads))
        if self._form == _STREAM:
            self._feed_stream(stamps_ns, reads)
        else:
            self._feed_whole(b"".join(reads))

    def _begin(
        self, timeline: Timeline, stamps_ns: Sequence[int], reads: list[bytes]
    ) -> tuple[Sequence[int], list[bytes]]:
        """Find out what the body is; what is to be decoded: all that has come, or nothing yet."""
        for at, data in enumerate(reads):
            self._start += data
            self._form = _form_of(timeline, self._start)
            if self._form is not None:
                self.answer.streamed = self._form != _REPLY
                return stamps_ns[at:], [self._start, *reads[at + 1 :]]
        return [], []

    def finish(self, stamp_ns: int, *, is_whole: bool) -> None:
        """Nothing more comes; the body ended at ``stamp_ns``.

        Args:
            stamp_ns: When.
            is_whole: False where it broke off: what came of a reply then is no fault of its form.
        """
        answer, whole = self.answer, bytes(self._whole)
        self._whole.clear()
        if answer.fault is not None:
            return
        if self._form is None and self._start and is_whole:
            self._form, whole = _FOREIGN, self._start
        if self._form == _REPLY:
            self._take_reply(stamp_ns, whole, is_whole=is_whole)
        elif self._form == _STREAM:
            self._take_rest()
        elif self._form == _FAILURE:
            answer.error = error_text(whole)
        elif self._form == _FOREIGN:
            answer.fault = ("not_json", f"neither events nor JSON: {error_text(whole)}")

    def _feed_stream(self, stamps_ns: Sequence[int], reads: list[bytes]) -> None:
        """Decode all reads together if their events are plain, else each with care."""
        if not self.answer.is_open:
            return
        plain = self._sse.feed_plain(b"".join(reads))
        if len(self.answer.chunk_ns) > MAX_CHUNKS:
            self.answer.fault = ("too_many_chunks", f"an answer of more than {MAX_CHUNKS:,} chunks")
        elif plain is None:
            for stamp_ns, data in zip(stamps_ns, reads, strict=True):
                self._feed_read(stamp_ns, data)
        else:
            events, ends = plain
            self.first = self.first or next(iter(events), b"")
            sizes = np.fromiter(map(len, reads), np.int64, len(reads))
            completed_by = sizes.cumsum().searchsorted(ends, side="right")
            self._take_plain(np.asarray(stamps_ns, np.int64)[completed_by].tolist(), events)

    def _take_plain(self, stamps_ns: list[int], events: list[bytes]) -> None:
        num_tokens = events.index(_DONE) if _DONE in events else len(events)
        before = self._sse.num_events - len(events)
        try:
            borne = self._decode_many(events[:num_tokens])
        except WireError:
            for number, stamp_ns, data in zip(itertools.count(before + 1), stamps_ns, events, strict=False):
                self._take_event(stamp_ns, Event(data), number)
            return
        self.answer.take_many(stamps_ns, borne)
        if num_to_token := _num_to_token(borne):
            self._num_to_token = before + num_to_token
        if num_tokens < len(events) and self.answer.is_open:
            self.answer.done_ns = stamps_ns[num_tokens]

    def _feed_read(self, stamp_ns: int, data: bytes) -> None:
        before = self._sse.num_events
        try:
            for number, event in enumerate(self._sse.feed(data), start=before + 1):
                self._take_event(stamp_ns, event, number)
        except EventTooLargeError as error:
            if self.answer.is_open:
                self.answer.fault = ("event_too_large", str(error))

    def _take_event(self, stamp_ns: int, event: Event, number: int) -> None:
        answer = self.answer
        if not answer.is_open:
            return
        self.first = self.first or event.data
        if event.data.startswith(_DONE):  # with whatever blanks behind it
            answer.done_ns = stamp_ns
        elif event.name == "error":
            answer.error = answer.error or error_text(event.data) or "an error event without a message"
        elif event.data:
            try:
                delta = self._decode(event.data)
                answer.take(stamp_ns, delta)
                self._num_to_token = self._num_to_token if delta.kind is None else number
            except WireError as error:
                answer.fault = ("malformed_event", str(error))

    def _take_rest(self) -> None:
        """What came behind the last whole event bears nothing, but may tell why the stream broke off."""
        answer = self.answer
        rest = self._sse.rest()
        if rest is not None and answer.is_open and answer.aside is None:
            with contextlib.suppress(WireError):
                delta = self._decode(rest.data)
                words = delta.error or delta.aside
                answer.aside = Aside(words, True) if words else None
        if answer.aside is None:
            answer.aside = aside_of(self._sse.strays(self._num_to_token))

    def _take_reply(self, stamp_ns: int, whole: bytes, *, is_whole: bool) -> None:
        self.first = whole
        try:
            self.answer.take(stamp_ns, self._decode(whole))
        except WireError as error:
            if is_whole:
                self.answer.fault = ("malformed_reply", str(error))

    def _feed_whole(self, data: bytes) -> None:
        if self._form == _REPLY:
            self._whole += b"" if self.answer.fault else data
            if len(self._whole) > MAX_REPLY_BYTES:
                self.answer.fault = ("reply_too_large", f"a reply of more than {MAX_REPLY_BYTES:,} bytes")
        else:
            self._whole += data[: max(0, MAX_ERROR_BYTES - len(self._whole))]


def _num_to_token(borne: Sequence[Delta | str]) -> int:
    """How many there are up to the last that bears a token; 0 if none does."""
    for number in range(len(borne), 0, -1):
        each = borne[number - 1]
        if isinstance(each, str) or each.kind is not None:
            return number
    return 0


def _form_of(timeline: Timeline, data: bytes) -> str | None:
    """What the body is, by status and content type; by its first bytes where the type doesn't say.

    None where ``data``, all that has come, is too little to tell.
    """
    if timeline.status is None or timeline.status >= 300:
        return _FAILURE
    content_type = timeline.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type == "text/event-stream":
        return _STREAM
    if content_type == "text/html":
        return _FOREIGN
    start = data.lstrip()
    if content_type.endswith("json") or start.startswith(b"{"):
        return _REPLY
    if start.startswith(_EVENT_STARTS):
        return _STREAM
    may_be_events = any(each.startswith(start) for each in _EVENT_STARTS)
    return None if may_be_events and len(data) <= MAX_BLANK_BYTES else _FOREIGN
