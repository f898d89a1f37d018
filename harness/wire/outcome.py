"""What became of a request: exactly one outcome, from how the exchange ended and what the answer bore."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

from harness.record import Outcome
from harness.timeline import End
from harness.wire.finish_reason import FAILURES

if TYPE_CHECKING:
    from harness.timeline import Timeline
    from harness.wire.answer import Answer
    from harness.wire.aside import Aside

SHORT_SHARE: Final = 0.9
"""An answer with ``ignore_eos`` and less than this share of ``max_tokens`` is short."""

_WIRE_FAILURES: Final = {
    End.RESET: Outcome.RESET,
    End.CONNECT_ERROR: Outcome.CONNECT_ERROR,
    End.TLS_ERROR: Outcome.TLS_ERROR,
    End.TIMEOUT: Outcome.TIMEOUT,
    End.NOT_HTTP: Outcome.BAD_RESPONSE,
    End.CUT: Outcome.CUT,
    End.CLIENT_ERROR: Outcome.CLIENT_ERROR,
}


class Finding(NamedTuple):
    """An outcome with its sub-class and its words.

    Attributes:
        outcome: What became of the request.
        detail: Sub-class of a failure. For ``ok``: ``no_done`` where the server never said ``[DONE]``,
            ``not_streamed`` where it answered in one piece.
        message: In words, secrets not yet masked.
    """

    outcome: Outcome
    detail: str = ""
    message: str = ""


def find(timeline: Timeline, answer: Answer, num_exact: int | None, expected: int | None) -> Finding:
    """The outcome of an exchange that is over.

    Args:
        timeline: The exchange.
        answer: All that it bore.
        num_exact: Output tokens, None unless the count is exact.
        expected: Tokens that the answer had to have, None if it was free to stop.
    """
    found = _found(timeline, answer, num_exact, expected)
    return found if answer.aside is None else _with_aside(found, answer.aside, answer.streamed)


def _found(timeline: Timeline, answer: Answer, num_exact: int | None, expected: int | None) -> Finding:
    if timeline.status is not None and timeline.status >= 300:
        return _refusal(timeline, answer)
    if answer.error is not None:
        return _reported_error(answer)
    if answer.fault is not None:
        return Finding(Outcome.BAD_RESPONSE, *answer.fault)
    if answer.finish_reason in FAILURES:
        return _given_up(answer, answer.finish_reason)
    ended_well = answer.done_ns is not None and answer.finish_reason is not None
    if timeline.end in _WIRE_FAILURES and not ended_well:
        return Finding(_WIRE_FAILURES[timeline.end], timeline.detail, timeline.message)
    return _by_content(timeline, answer) or _by_length(answer, num_exact, expected)


def _with_aside(found: Finding, aside: Aside, streamed: bool) -> Finding:
    """What was said beside the form counts where the answer broke off: an error then is the reason."""
    broke_off = found.outcome in (Outcome.TRUNCATED, Outcome.RESET) or found.detail == "no_choices"
    if broke_off and streamed and aside.is_error:
        return Finding(Outcome.STREAM_ERROR, "", aside.text)
    if broke_off or found.outcome in (Outcome.TIMEOUT, Outcome.BAD_RESPONSE):
        return found._replace(message=f"{found.message}; it said: {aside.text}")
    return found


def _refusal(timeline: Timeline, answer: Answer) -> Finding:
    status = timeline.status or 0
    message = answer.error or timeline.message or "no message"
    if status == HTTPStatus.NOT_MODIFIED:
        message = "not modified, though no such condition was sent: a cache on the way answers"
    elif status < 400:
        message = f"redirect to {timeline.headers.get('location', 'nowhere')}; give the final address"
    outcome = Outcome.REJECTED if status in (429, 503) else Outcome.HTTP_ERROR
    return Finding(outcome, str(status), message)


def _reported_error(answer: Answer) -> Finding:
    if answer.streamed:
        return Finding(Outcome.STREAM_ERROR, "", answer.error or "")
    return Finding(Outcome.BAD_RESPONSE, "error_object", answer.error or "")


def _given_up(answer: Answer, reason: str) -> Finding:
    message = f"the server ended the answer with finish_reason {reason!r}"
    return Finding(Outcome.STREAM_ERROR if answer.streamed else Outcome.BAD_RESPONSE, reason, message)


def _by_content(timeline: Timeline, answer: Answer) -> Finding | None:
    """What is wrong with an answer that ended without a failure on the wire; None if nothing is."""
    if not answer.num_bytes:
        if timeline.end is End.CLOSED:
            return Finding(Outcome.TRUNCATED, "", "closed before the first byte of the body")
        return Finding(Outcome.BAD_RESPONSE, "empty_body", f"status {timeline.status} with an empty body")
    if not answer.streamed:
        if timeline.end is End.CLOSED and not answer.has_choices:
            return Finding(Outcome.TRUNCATED, "", "closed in the middle of the reply")
        if not answer.has_choices:
            return Finding(Outcome.BAD_RESPONSE, "no_choices", "a reply without an answer in it")
        return None
    if answer.finish_reason is not None:
        return None
    if answer.done_ns is None:
        return Finding(Outcome.TRUNCATED, "", "closed without finish_reason and without [DONE]")
    if not answer.has_choices:
        return Finding(Outcome.BAD_RESPONSE, "no_choices", "a stream without choices")
    return Finding(Outcome.TRUNCATED, "no_finish_reason", "[DONE] came without a finish_reason")


def _by_length(answer: Answer, num_exact: int | None, expected: int | None) -> Finding:
    if expected is not None and num_exact is not None and num_exact < SHORT_SHARE * expected:
        asked = f"{num_exact} tokens of {expected} asked for with ignore_eos"
        return Finding(Outcome.SHORT_OUTPUT, "", asked)
    if not answer.asked_stream:
        return Finding(Outcome.OK)
    if not answer.streamed:
        note = Finding(Outcome.OK, "not_streamed", "asked for a stream, the server answered in one piece")
    elif answer.done_ns is None:
        note = Finding(Outcome.OK, "no_done", "the stream ended without [DONE]")
    else:
        note = Finding(Outcome.OK)
    return note._replace(outcome=Outcome.OK_EMPTY) if answer.is_empty else note
