"""When to end a run before its time."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from scenarios.durations import UNITS, format_duration, parse_duration
from scenarios.ranges import MAX_REQUESTS, NumAtOnce
from scenarios.rates import Share
from scenarios.section import Section, fault

DEFAULT_AFTER: Final = 20
DEFAULT_SATURATION_AFTER: Final = 30 * UNITS["s"]
_REQUESTS: Final = re.compile(r"(\d{1,9})(?:\s*requests?)?", re.ASCII)


def _parse_count(value: object) -> object:
    match = _REQUESTS.fullmatch(value.strip()) if isinstance(value, str) else None
    if isinstance(value, str) and match is None:
        raise fault(f"{value!r} is no number of requests; write 20 or 20 requests")
    return int(match[1]) if match else value


def _parse_saturation(value: object) -> object:
    if isinstance(value, bool):
        return DEFAULT_SATURATION_AFTER if value else None
    return None if value is None else parse_duration(value)


def _write_saturation(value: int | None) -> str | None:
    return None if value is None else format_duration(value)


class Stop(Section):
    """Limits beyond which going on would teach nothing more. The first that is passed ends the run.

    Attributes:
        error_share: More failures than this share of all requests that have ended.
        after: So many requests must have ended before ``error_share`` counts; 20 if left out.
        in_flight: So many requests in flight: the server can't keep up.
        saturation: ``true``, or how long after the start to begin to look (30s): an open loop in which both
            the requests in flight and the response times grow, by a statistical test.
        decided: As soon as every objective is decided. The verdicts' chance of error is spent over the looks
            that this takes, so they hold with the scenario's ``confidence`` all the same.
    """

    error_share: Share | None = None
    after: Annotated[int | None, BeforeValidator(_parse_count)] = Field(None, ge=1, le=MAX_REQUESTS)
    in_flight: NumAtOnce | None = None
    saturation: Annotated[
        int | None,
        BeforeValidator(_parse_saturation),
        PlainSerializer(_write_saturation, return_type=str | None, when_used="json"),
    ] = None

    decided: bool = False

    @model_validator(mode="after")
    def _check_any(self) -> Stop:
        limits = (self.error_share, self.in_flight, self.saturation)
        if not self.decided and all(limit is None for limit in limits):
            raise fault("needs error_share: 50%, or in_flight: 2000, or saturation: true, or decided: true")
        if self.after is not None and self.error_share is None:
            raise fault("after belongs to error_share; for example {error_share: 50%, after: 20 requests}")
        if self.error_share == 1:
            raise fault("error_share: more than 100 % never fail; give less")
        return self
