"""Rules as keywords of Python: ``ttft_p99="500ms"``, ``error_rate="<1%"``, ``output_tokens_min=1``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from harness.metrics import Unit
from harness.quality_figures import NATS, PLAIN, QUALITY_FIGURES
from harness.rates import SHARE, UNITS
from harness.sla.errors import RuleError
from harness.sla.grammar import is_relative, keys_of_values, parse_key, parse_statistic, rule_from
from harness.sla.rule import unit_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.sla.rule import Rule

_TAIL: Final = re.compile(r"(?P<key>\w+?)_(?P<statistic>p\d+(?:_\d+)?|mean|min|max)")
_SMALLER_IS_BETTER: Final = (Unit.NS, SHARE, Unit.STALLS, Unit.REQUESTS, PLAIN, NATS)


def rules_of_keywords(keywords: Mapping[str, object]) -> tuple[Rule, ...]:
    """The rules of a marker's keywords, in their order.

    A value without an operator is a limit that may just be reached: ``<=`` for latencies and the error
    rate, ``>=`` for everything of which more is better. ``p99_9`` is p99.9.

    Raises:
        RuleError: One of them is no objective.
    """
    return tuple(_rule(name, value) for name, value in keywords.items())


def _rule(name: str, value: object) -> Rule:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise RuleError(f"{name}={value!r}: write a limit such as '500ms' or '<1%'")
    key, statistic = split_name(name)
    text = str(value).strip()
    if is_relative(text):
        raise RuleError(
            f"{name}={value!r}: what is relative to a baseline goes into the marker sla_baseline('NAME', "
            f"{name}='10%'); in the body compare with run.baseline"
        )
    if text[:1] not in ("<", ">", "=", "!"):
        text = f"{_operator(key, statistic)} {text}"
    try:
        return rule_from(key, f"{statistic} {text}".strip())
    except RuleError as error:
        raise RuleError(f"{name}={value!r}: {str(error).removeprefix(f'thresholds: {key}: ')}") from error


def split_name(name: str) -> tuple[str, str]:
    """Metric and statistic of ``ttft_p99``: of the ways to part it, the one whose first part is a metric.

    Raises:
        RuleError: None is.
    """
    if name in UNITS or name in QUALITY_FIGURES:
        return name, ""
    key, statistic = _part(name)
    try:
        parse_key(key)
        if not statistic:
            raise RuleError(f"which value of it? write {name}_p99, {name}_mean, {name}_min or {name}_max")
        parse_statistic(statistic)
    except RuleError as error:
        raise RuleError(f"{name}: {error}") from error
    return key, statistic


def _part(name: str) -> tuple[str, str]:
    key = max(
        (each for each in keys_of_values() if name == each or name.startswith(f"{each}_")),
        key=len,
        default=None,
    )
    if key is not None:
        return key, name[len(key) + 1 :].replace("_", ".")
    match = _TAIL.fullmatch(name)
    return (match["key"], match["statistic"].replace("_", ".")) if match else (name, "")


def _operator(key: str, statistic: str) -> str:
    metric, _ = parse_key(key)
    if metric.endswith(("attainment", "agreement")) or statistic == "min":
        return ">="
    unit = unit_of(metric)
    return "<=" if unit in _SMALLER_IS_BETTER or statistic == "max" else ">="
