"""Limits of objectives as people write them: ``500ms``, ``100 tokens/s``, ``5/s``, ``1%``."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from harness.metrics import Unit
from harness.quality_figures import NATS, PLAIN
from harness.rates import REQUESTS_PER_SECOND, SHARE, TOKENS_PER_SECOND
from harness.sla.errors import RuleError
from scenarios.durations import format_duration, parse_duration
from scenarios.errors import ScenarioError
from scenarios.rates import parse_share

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_TOKENS: Final = re.compile(r"(\d+\.?\d*)\s*(?:tokens?)?", re.ASCII)
_REQUESTS: Final = re.compile(r"(\d+\.?\d*|\.\d+)\s*(?:req|requests?)?", re.ASCII)
_STALLS: Final = re.compile(r"(\d+\.?\d*|\.\d+)\s*(?:stalls?)?", re.ASCII)
_PLAIN: Final = re.compile(r"(\d+\.?\d*|\.\d+)", re.ASCII)
_NATS: Final = re.compile(r"(\d+\.?\d*|\.\d+)\s*(?:nats?)?", re.ASCII)
_TOKEN_RATE: Final = re.compile(r"(\d+\.?\d*|\.\d+)\s*(?:tok|tokens?)?\s*/\s*([smh])", re.ASCII)
_REQUEST_RATE: Final = re.compile(r"(\d+\.?\d*|\.\d+)\s*(?:req|requests?)?\s*/\s*([smh])", re.ASCII)


def parse_quantity(text: str, unit: str) -> float:
    """The value of ``text`` in ``unit``.

    Args:
        text: A duration for ns; ``12`` or ``12 tokens``; ``100 tokens/s``; ``5/s`` or ``300/m`` for
            requests/s; ``1%`` or ``0.01`` for a share, where 1 alone could mean either end.
        unit: One of ``ns``, ``tokens``, ``stalls``, ``requests``, ``tokens/s``, ``requests/s``, ``share``,
            ``nats``, and empty for plain numbers.

    Raises:
        RuleError: Not such a value, or its unit is missing where another unit could be meant.
    """
    try:
        return _PARSERS[unit](text.strip())
    except RuleError:
        raise
    except ScenarioError as error:
        raise RuleError(str(error)) from error


def _number_of(things: str, pattern: re.Pattern[str], example: str) -> Callable[[str], float]:
    def parse(text: str) -> float:
        match = pattern.fullmatch(text)
        if not match:
            raise RuleError(f"'{text}' is no number of {things}; write {example}")
        return float(match[1])

    return parse


def _token_rate(text: str) -> float:
    match = _TOKEN_RATE.fullmatch(text)
    if not match:
        raise RuleError(f"'{text}' is no rate of tokens; write 100 tokens/s")
    return float(match[1]) / _SECONDS[match[2]]


def _request_rate(text: str) -> float:
    match = _REQUEST_RATE.fullmatch(text)
    if not match:
        raise RuleError(
            f"'{text}' is no rate of requests; write 5/s or 300/m (a share of requests is 'attainment')"
        )
    return float(match[1]) / _SECONDS[match[2]]


def _share(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        return parse_share(text)
    if float(text) == 1:
        raise RuleError(f"'{text}' can be read as 1 % and as all of them; write 1% or 100%")
    try:
        return parse_share(float(text))
    except ScenarioError as error:
        raise RuleError(f"{error}; write {text}% for per cent") from error


_PARSERS: Final[dict[str, Callable[[str], float]]] = {
    Unit.NS: parse_duration,
    Unit.TOKENS: _number_of("tokens", _TOKENS, "12 or 12 tokens"),
    Unit.STALLS: _number_of("stalls", _STALLS, "2 or 0.1"),
    Unit.REQUESTS: _number_of("requests", _REQUESTS, "4"),
    PLAIN: _number_of("a plain kind", _PLAIN, "1.005 or 30"),
    NATS: _number_of("nats", _NATS, "0.01 or 0.01 nats"),
    TOKENS_PER_SECOND: _token_rate,
    REQUESTS_PER_SECOND: _request_rate,
    SHARE: _share,
}


def write_quantity(value: float, unit: str) -> str:
    """The shortest exact form that ``parse_quantity`` reads back."""
    if unit == Unit.NS:
        return format_duration(round(value))
    if unit == SHARE:
        return f"{write_number(value * 100)}%"
    return f"{write_number(value)}{_SUFFIX[unit]}"


def write_number(value: float) -> str:
    """Up to 12 significant digits, never with an exponent: objectives have none."""
    return f"{Decimal(f'{value:.12g}').normalize():f}"


_SUFFIX: Final = {
    Unit.TOKENS: "",
    Unit.STALLS: "",
    Unit.REQUESTS: "",
    PLAIN: "",
    NATS: " nats",
    TOKENS_PER_SECOND: " tokens/s",
    REQUESTS_PER_SECOND: "/s",
}
