"""Single requests of a run, as far as a result shows them."""

from __future__ import annotations

import msgspec


class ErrorClass(msgspec.Struct, frozen=True, kw_only=True):
    """Requests that failed alike.

    Attributes:
        outcome: ``http_error``, ``timeout``, ``truncated``, ...
        detail: The sub-class: HTTP status, which timeout; empty where there is none.
        count: How many.
        sample: One message, secrets masked, at most 500 characters.
        request_id: ``X-Request-Id`` of the request of that message, for a look into the server's log.
    """

    outcome: str
    detail: str
    count: int
    sample: str
    request_id: str | None = None


class RequestRow(msgspec.Struct, frozen=True, kw_only=True):
    """One request, for the report's table and scatter chart (the journal holds all of them whole).

    Attributes:
        index: Position in the schedule.
        start_s: When it was sent, seconds after the start of the run.
        outcome: As in definitions: ``ok``, ``http_error``, ...
        detail: The sub-class of a failure.
        measured: True inside the measured window, False in warm-up, cool-down or when cut.
        prompt_tokens: None where unknown.
        output_tokens: None where unknown.
        ttft: Response TTFT, ns, None without a token.
        tpot: ns, None for fewer than two tokens.
        e2e: Response end-to-end time, ns.
        schedule_lag: sent - due, ns, None in a closed loop.
        message: The error's message, empty for ``ok``.
        request_id: Of a failure, what was sent as ``X-Request-Id``.
    """

    index: int
    start_s: float
    outcome: str
    detail: str = ""
    measured: bool = True
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    ttft: int | None = None
    tpot: float | None = None
    e2e: int | None = None
    schedule_lag: int | None = None
    message: str = ""
    request_id: str | None = None


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt and its answer, so that a reader sees what the numbers are about.

    Attributes:
        index: Position in the schedule.
        prompt: At most 2,000 characters.
        answer: At most 2,000 characters.
    """

    index: int
    prompt: str
    answer: str
