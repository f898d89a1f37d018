"""One request on its way: its timeline, what has been decoded of it, and at last its record."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from harness.output_tokens import output_tokens_of
from harness.record import Record, TokenSource
from harness.timeline import SLICE_BYTES, End, EnoughError, Timeline
from harness.wire import Usage
from harness.wire.decoding import Decoder
from harness.wire.error_text import one_line
from harness.wire.outcome import find
from harness.wire.server_id import server_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.client import Client, Prepared

MAX_WAITING_BYTES: Final = 64 * 1024 * 1024
"""So much of one answer may wait to be decoded."""


class Exchange(Timeline):
    """A timeline that can be decoded, a few reads at a time.

    Args:
        client: Whose endpoint decodes.
        prepared: The request.
        due_ns: When it was due, on the monotonic clock.
        on_slice: Called with this exchange when much has gathered undecoded.
        keep_text: Keep prompt and answer as text.
        told: Told of the record and of what the server said.

    Attributes:
        is_recorded: True once its record has been made.
        recorded: Done with that record; None where nobody waits for it: no turn follows.
    """

    __slots__ = (
        "_client",
        "_decoder",
        "_keep_text",
        "_num_slices",
        "_on_slice",
        "_prepared",
        "_told",
        "is_recorded",
        "recorded",
    )

    def __init__(
        self,
        client: Client,
        prepared: Prepared,
        due_ns: int,
        on_slice: Callable[[Exchange], None],
        *,
        keep_text: bool,
        told: Callable[[Record, str], None] | None = None,
    ) -> None:
        super().__init__(due_ns)
        self.is_recorded = False
        self._num_slices = 0
        self._client = client
        self._prepared = prepared
        self._on_slice = on_slice
        self._keep_text = keep_text
        self.recorded: asyncio.Future[Record] | None = None
        if prepared.arrival.later:
            self.recorded = asyncio.get_running_loop().create_future()
        self._told = told
        is_kept = keep_text or told is not None or self.recorded is not None or client.counter is not None
        self._decoder = Decoder(client.endpoint.asked_for(prepared.arrival.sampling), is_kept)
        self.end_marks = client.endpoint.end_marks

    @property
    def has_reply(self) -> bool:
        """Whether the server replied, be it with an error, or might have."""
        return self.status is not None or self.end is End.CUT

    @property
    def said(self) -> str:
        """What the server said, without what it thought aloud; kept where it is asked for."""
        return self._decoder.answer.said or ""

    def tell(self, record: Record) -> None:
        """Hand the record to whoever waits for it."""
        if self.recorded is not None and not self.recorded.done():
            self.recorded.set_result(record)
        if self._told is not None:
            self._told(record, self.said)

    def on_slice(self) -> None:
        """See ``Timeline``. A server that sends without end must not fill the memory."""
        self._on_slice(self)
        if self._decoder.answer.fault is not None:
            raise EnoughError(End.CLOSED, *self._decoder.answer.fault)
        self._num_slices += 1
        if self._num_slices > MAX_WAITING_BYTES // SLICE_BYTES:
            self._num_slices = sum(map(len, self.reads)) // SLICE_BYTES
        if self._num_slices > MAX_WAITING_BYTES // SLICE_BYTES:
            raise EnoughError(
                End.CLIENT_ERROR,
                "too_fast",
                f"{MAX_WAITING_BYTES:,} bytes came faster than the harness could decode them; "
                "lower the load, or give it more CPU",
            )

    def has_token(self) -> bool:
        """See ``Timeline``. Decodes what has come so far."""
        self._digest_all()
        return self._decoder.answer.has_token

    def over_ns(self) -> int | None:
        """See ``Timeline``. Decodes what has come so far."""
        self._digest_all()
        return self._decoder.answer.done_ns

    def _digest_all(self) -> None:
        while self.digest(1_000):
            pass

    def digest(self, max_reads: int) -> bool:
        """Decode at most so many reads; True if there are more."""
        stamps_ns, reads = self.read_ns[:max_reads], self.reads[:max_reads]
        del self.read_ns[:max_reads], self.reads[:max_reads]
        self._decoder.feed(self, stamps_ns, reads)
        return bool(self.reads)

    def record(self, origin_ns: int) -> Record:
        """The record of an exchange that is over and wholly digested.

        Args:
            origin_ns: Start of the run on the monotonic clock; the record's times count from it.
        """
        self._decoder.finish(self.end_ns, is_whole=self.end in (End.COMPLETE, End.LEFT_OPEN))
        answer, arrival = self._decoder.answer, self._prepared.arrival
        usage = answer.usage or Usage()
        counts, counts_exact = answer.chunk_tokens()
        output_tokens, source = output_tokens_of(answer, counts, counts_exact, self._client.counter)
        is_exact = counts_exact or source is TokenSource.USAGE
        expected = _expected_tokens(arrival.sampling)
        outcome, detail, message = find(self, answer, output_tokens if is_exact else None, expected)
        return Record(
            index=arrival.index,
            due_ns=self.due_ns - origin_ns,
            sent_ns=_since(self.sent_ns, origin_ns),
            headers_ns=_since(self.headers_ns, origin_ns),
            chunk_ns=[stamp_ns - origin_ns for stamp_ns in answer.chunk_ns],
            chunk_tokens=counts,
            chunk_tokens_exact=counts_exact,
            answer_index=answer.answer_index,
            coalesced_chunks=answer.num_coalesced,
            done_ns=(self.end_ns if answer.done_ns is None else answer.done_ns) - origin_ns,
            outcome=outcome,
            detail=detail,
            message=one_line(self._client.target.mask(message)) if message else "",
            status=self.status,
            finish_reason=answer.finish_reason and self._client.target.mask(answer.finish_reason),
            prompt_tokens=arrival.prompt.num_tokens if usage.prompt_tokens is None else usage.prompt_tokens,
            output_tokens=output_tokens,
            token_source=source,
            usage_tokens=usage.completion_tokens,
            cached_tokens=usage.cached_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            usage_left_out=answer.has_odd_usage,
            num_resends=self.num_resends,
            body_left_open=self.end is End.LEFT_OPEN,
            connect_ns=self.connect_ns,
            streamed=answer.streamed,
            expected_tokens=expected,
            prompt=_prompt_text(self._prepared) if self._keep_text else None,
            answer=answer.text if self._keep_text else None,
            conversation=arrival.conversation,
            turn=None if arrival.conversation is None else arrival.turn,
            num_turns=None if arrival.conversation is None else arrival.num_turns,
            prompt_length=arrival.prompt.num_tokens,
            request_id=self._prepared.request.request_id,
            server_id=server_id(self._decoder.first, self._client.target.mask),
        )


def _since(stamp_ns: int | None, origin_ns: int) -> int | None:
    return None if stamp_ns is None else stamp_ns - origin_ns


def _expected_tokens(sampling: dict[str, Any]) -> int | None:
    limit = sampling.get("max_tokens")
    return limit if sampling.get("ignore_eos") and isinstance(limit, int) else None


def _prompt_text(prepared: Prepared) -> str:
    prompt = prepared.arrival.prompt
    if prompt.messages is not None:
        return "\n\n".join(f"{message.role}: {message.content}" for message in prompt.messages)
    return prompt.text if prompt.text is not None else f"token ids {list(prompt.token_ids or ())}"
