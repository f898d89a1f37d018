"""A finished request: what the journal keeps and every metric is computed from.

All ``*_ns`` are integer nanoseconds of one monotonic clock, counted from the start of the run.
Words as in the glossary of docs/definitions.md.
"""

from __future__ import annotations

import enum
import functools
from typing import Annotated, Any, Final, TypeAlias

import msgspec
import numpy as np

IntArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
MAX_COUNT: Final = 1 << 53
"""A float holds it to the unit; of ns it is 104 days."""
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]
"""A number of things, or of ns since the start. A line of a journal with another one is no record."""


class Outcome(enum.StrEnum):
    """What became of a request; exactly one holds.

    Attributes:
        succeeded: True for ``ok`` and ``ok_empty``.
        failed: True for every outcome that counts as an error; a request cut by the end of the run doesn't.
    """

    OK = "ok"
    OK_EMPTY = "ok_empty"
    TRUNCATED = "truncated"
    STREAM_ERROR = "stream_error"
    HTTP_ERROR = "http_error"
    REJECTED = "rejected"
    BAD_RESPONSE = "bad_response"
    CONNECT_ERROR = "connect_error"
    TLS_ERROR = "tls_error"
    RESET = "reset"
    TIMEOUT = "timeout"
    SHORT_OUTPUT = "short_output"
    CUT = "cut"
    CLIENT_ERROR = "client_error"

    def __init__(self, value: str) -> None:
        self.succeeded = value in ("ok", "ok_empty")
        self.failed = not self.succeeded and value != "cut"


CANCELLED: Final = "cancelled"
"""The detail of a request that was cut by the scenario's own wish and not by the end of the run."""


class TokenSource(enum.StrEnum):
    """Where a token count comes from, best first."""

    USAGE = "usage"
    TOKEN_IDS = "token_ids"  # noqa: S105 (tokens of text)
    TOKENIZER = "tokenizer"
    CHUNKS = "chunks"


class Record(msgspec.Struct, kw_only=True, dict=True):
    """One request, from its due time to its end.

    Attributes:
        index: Position in the schedule.
        due_ns: When it was to be sent (closed loop: when its slot became free).
        sent_ns: When its bytes were handed to the kernel; None if they never were.
        headers_ns: When the response head had been received.
        chunk_ns: Arrival of each token-bearing event.
        chunk_tokens: Tokens in each of them; 1 where assumed.
        chunk_tokens_exact: True where ``chunk_tokens`` comes from token_ids, usage or logprobs.
        answer_index: Index into ``chunk_ns`` of the first chunk that belongs to the answer and not
            to reasoning; None if there is none.
        coalesced_chunks: Chunks that share a socket read with the chunk before them.
        done_ns: ``[DONE]``, the clean end, or the failure.
        outcome: What became of it.
        detail: The sub-class of a failure: HTTP status, which timeout. ``cancelled``: cut by the scenario.
        message: The failure's message, secrets masked.
        status: HTTP status, None without a response.
        finish_reason: As the server said.
        prompt_tokens: From usage, else from the prompt's source; None if neither knows.
        output_tokens: None if nothing was received.
        token_source: Where ``output_tokens`` comes from.
        usage_tokens: What the server's usage said, None without usage.
        cached_tokens: Prompt tokens served from the prefix cache, as the server said.
        reasoning_tokens: Part of ``output_tokens`` spent on reasoning, as the server said.
        usage_left_out: True where the server's usage was no count of tokens.
        num_resends: How often it was sent again because the server had closed the kept-alive connection.
        body_left_open: True where the stream ended and its HTTP body did not: the connection was closed.
        connect_ns: Time spent on a new connection (TCP and TLS), 0 on a reused one.
        streamed: False when the server answered in one piece.
        expected_tokens: ``max_tokens`` when ``ignore_eos`` was asked for, else None.
        conversation: Number of the conversation it belongs to; None for a request by itself.
        turn: Its number among the turns of that conversation, from 1.
        num_turns: How many turns that conversation was to have.
        prompt_length: Tokens of the prompt's own text as the scenario's tokenizer counted them before the
            run; None where nobody did.
        request_id: What was sent as ``X-Request-Id``, by which logs of servers can be searched.
        server_id: The ``id`` that the server gave its answer.
        prompt: Text of the prompt, kept for a few samples only.
        answer: Text of the answer, likewise.
    """

    index: Count
    due_ns: Count
    sent_ns: Count | None = None
    headers_ns: Count | None = None
    chunk_ns: list[int] = msgspec.field(default_factory=list)
    chunk_tokens: list[Count] = msgspec.field(default_factory=list)
    chunk_tokens_exact: bool = False
    answer_index: Count | None = None
    coalesced_chunks: Count = 0
    done_ns: Count
    outcome: Outcome
    detail: str = ""
    message: str = ""
    status: int | None = None
    finish_reason: str | None = None
    prompt_tokens: Count | None = None
    output_tokens: Count | None = None
    token_source: TokenSource | None = None
    usage_tokens: Count | None = None
    cached_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    usage_left_out: bool = False
    num_resends: Count = 0
    body_left_open: bool = False
    connect_ns: Count = 0
    streamed: bool = True
    expected_tokens: int | None = None
    conversation: Count | None = None
    turn: Count | None = None
    num_turns: Count | None = None
    prompt_length: Count | None = None
    request_id: str | None = None
    server_id: str | None = None
    prompt: str | None = None
    answer: str | None = None

    @property
    def output_is_estimate(self) -> bool:
        """True where ``output_tokens`` was not counted by the server."""
        if self.token_source is TokenSource.CHUNKS:
            return not self.chunk_tokens_exact
        return self.token_source is TokenSource.TOKENIZER

    @functools.cached_property
    def arrivals_ns(self) -> IntArray:
        """``chunk_ns`` as an array, made once for all that is computed from it."""
        return np.array(self.chunk_ns, np.int64)

    @functools.cached_property
    def gaps_ns(self) -> FloatArray:
        """Times between neighbouring chunks, one less than there are chunks, made once."""
        return (self.arrivals_ns[1:] - self.arrivals_ns[:-1]).astype(np.float64)

    @property
    def was_cut_off(self) -> bool:
        """True where the end of the run cut it, and not the scenario's own wish."""
        return self.outcome is Outcome.CUT and self.detail != CANCELLED
