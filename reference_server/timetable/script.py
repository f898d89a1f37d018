"""The script: what is sent and when. Set on the command line, overridden by field in a request's body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from reference_server.timetable.durations import Duration, parse_duration
from reference_server.timetable.faults import FaultName

if TYPE_CHECKING:
    from collections.abc import Mapping

Distribution = Literal["constant", "exponential", "lognormal"]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
PositiveCount = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]

_MS = 1_000_000


class ScriptError(ValueError):
    """The script makes no sense. The message names the field and what it takes."""


class Script(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the tokens of an answer are sent, in which form, and what goes wrong.

    Attributes:
        ttft: From the start of service to the first token.
        gap: From one token-bearing event to the next.
        tokens: Output tokens; the request's max_tokens is the limit, and the default, else 64.
        tokens_per_chunk: Tokens in one event.
        ttft_distribution: Of ttft, with ``ttft`` as the mean.
        gap_distribution: Of gap, with ``gap`` as the mean.
        sigma: Of the lognormal distributions.
        tail_share: Share of the requests that get ``ttft`` times ``tail_factor``.
        tail_factor: See ``tail_share``.
        role: When the event with the role is sent: with the first token, at the start of service, or not.
        role_content: What the content field of the role's event holds.
        finish: finish_reason rides on the last token's event or has one of its own.
        answer: What the tokens are.
        reasoning_tokens: How many of the tokens are thought before the answer.
        reasoning_field: The name they go by.
        usage: The usage event: if asked for (stream_options), always, never, or in every event.
        done: The stream ends with [DONE].
        keepalive: A comment is sent at this interval; 0 for none.
        line_end: What ends a line of the event stream.
        space: A space follows ``data:``.
        split: Pieces in which every event is written.
        split_gap: Time between the pieces.
        coalesce: Token-bearing events in one write, sent when the last of them is due.
        headers_delay: The response head is held back for so long.
        close: The connection is closed after the answer.
        faults: What goes wrong, by name, and the share of requests that it strikes.
        fault_after: Tokens sent before stream_error, cut, reset or stall strikes.
        fault_delay: How long slow_headers holds the response head back.
    """

    ttft: Duration = Duration(50 * _MS)
    gap: Duration = Duration(10 * _MS)
    tokens: Count | None = None
    tokens_per_chunk: PositiveCount = 1
    ttft_distribution: Distribution = "constant"
    gap_distribution: Distribution = "constant"
    sigma: Annotated[float, msgspec.Meta(gt=0, le=5)] = 0.5
    tail_share: Share = 0.0
    tail_factor: Annotated[float, msgspec.Meta(ge=1, le=1_000_000)] = 10.0
    role: Literal["first", "arrival", "off"] = "first"
    role_content: Literal["empty", "null", "absent"] = "empty"
    finish: Literal["last", "separate"] = "last"
    answer: Literal["text", "tool_call", "refusal"] = "text"
    reasoning_tokens: Count = 0
    reasoning_field: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    usage: Literal["asked", "always", "never", "continuous"] = "asked"
    done: bool = True
    keepalive: Duration = Duration(0)
    line_end: Literal["lf", "crlf", "cr"] = "lf"
    space: bool = True
    split: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 1
    split_gap: Duration = Duration(0)
    coalesce: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1
    headers_delay: Duration = Duration(0)
    close: bool = False
    faults: dict[FaultName, Share] = {}
    fault_after: Count = 8
    fault_delay: Duration = Duration(1_000 * _MS)

    def __post_init__(self) -> None:
        """Check what spans several fields."""
        if sum(self.faults.values()) > 1 + 1e-9:
            raise ValueError("the shares of faults add up to more than 1")
        if self.split > 1 and self.coalesce > 1:
            raise ValueError("split and coalesce exclude each other")


def make_script(fields: Mapping[str, Any], base: Script | None = None) -> Script:
    """``base`` with some fields replaced; numbers and booleans may be written as text.

    Raises:
        ScriptError: An unknown field, or a value it does not take.
    """
    known = {name: getattr(base, name) for name in Script.__struct_fields__} if base else {}
    try:
        return msgspec.convert({**known, **fields}, Script, strict=False, dec_hook=_decode)
    except (msgspec.ValidationError, ValueError) as error:
        raise ScriptError(f"timetable: {error}") from error


def _decode(kind: type, written: object) -> object:
    if kind is Duration:
        return written if isinstance(written, Duration) else parse_duration(written)
    raise NotImplementedError(kind)
