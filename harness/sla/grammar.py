"""From text to rules. All that can be wrong with an objective is found here, before any load is sent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from harness import metrics
from harness.quality_figures import QUALITY_FIGURES
from harness.rates import ERROR_RATE, SHARE, UNITS
from harness.series import BASES, RESPONSE
from harness.server_figures import SERVER_FIGURES
from harness.sla.error_classes import share_of
from harness.sla.errors import RuleError
from harness.sla.quantity import parse_quantity, write_number
from harness.sla.rule import Operator, Rule, Statistic, unit_of
from scenarios.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

BASELINE: Final = "baseline"
_CONDITION: Final = re.compile(r"(?P<statistic>[^<>=]*?)\s*(?P<operator>[<>=!]+)\s*(?P<limit>[^<>=!]+)")
_BASIS: Final = re.compile(r"(?P<name>\w+)\s*\(\s*(?P<basis>\w+)\s*\)")
_PERCENTILE: Final = re.compile(r"p(?:(\d+(?:\.\d+)?)|\((\d+(?:\.\d+)?)\))", re.IGNORECASE | re.ASCII)
_LONGEST: Final = 100
"""Characters of a condition: the longest that says something has some 30."""
_STATISTICS: Final = ("mean", "min", "max")
_OTHER_WORDS: Final = {
    "avg": "mean",
    "average": "mean",
    "med": "p50",
    "median": "p50",
    "minimum": "min",
    "maximum": "max",
    "latency": "e2e",
    "duration": "e2e",
    "http_req_duration": "e2e",
    "errors": "error_rate",
    "http_req_failed": "error_rate",
    "failures": "error_rate",
    "throughput": "output_token_rate",
    "tps": "output_token_rate",
    "rps": "request_rate",
    "qps": "request_rate",
    "tbt": "itl",
    "inter_token_latency": "itl",
    "time_to_first_token": "ttft",
    "time_per_output_token": "tpot",
    "kl": "kl_top_mean",
    "kl_mean": "kl_top_mean",
    "kl_p99": "kl_top_p99",
}


def rules_from(thresholds: Mapping[str, Iterable[str]]) -> tuple[Rule, ...]:
    """The rules of a scenario's ``thresholds``, in their order, each once.

    Those relative to a baseline are no rules of this kind (``harness.comparison.objectives``).

    Raises:
        RuleError: One of them is no objective.
    """
    stated = ((key, text) for key, conditions in thresholds.items() for text in conditions)
    return tuple(dict.fromkeys(rule_from(key, text) for key, text in stated if not is_relative(text)))


def is_relative(condition: str) -> bool:
    """Whether a condition speaks of a baseline: ``p95 <= baseline + 10 %``."""
    return BASELINE in condition


def rule_from(key: str, condition: str) -> Rule:
    """The rule of one condition.

    Args:
        key: A metric, with its basis where it isn't the usual one, or a rate: ``ttft``, ``service_ttft``,
            ``ttft(service)``, ``goodput``.
        condition: ``p99 < 500ms``, ``mean <= 50ms``, ``< 1%``, ``> 100 tokens/s``.

    Raises:
        RuleError: It is none. The message says what is wrong and how to write it.
    """
    try:
        metric, basis = parse_key(key)
        return _rule(metric, basis, condition)
    except RuleError as error:
        raise RuleError(f"thresholds: {key}: {error}") from error


def parse_key(key: str) -> tuple[str, str | None]:
    """Metric or rate, and basis, of ``ttft``, ``service_ttft``, ``ttft(service)``, ``error_rate[timeout]``.

    Raises:
        RuleError: There is no such metric, or it has no such basis.
    """
    name, basis = _split_basis(share_of(key.strip()))
    known = (*metrics.names(), *UNITS, *SERVER_FIGURES, *QUALITY_FIGURES)
    if name not in known:
        raise RuleError(f"'{name}' is no metric; {_meant(name, known)}")
    has_bases = name in metrics.names() and metrics.metric(name).has_bases
    if basis is None:
        return name, RESPONSE if has_bases else None
    if basis not in BASES:
        raise RuleError(f"'{basis}' is no basis; {did_you_mean(basis, BASES)}")
    if not has_bases:
        raise RuleError(f"{name} has no bases; write {name}")
    return name, basis


def keys_of_values() -> tuple[str, ...]:
    """The keys of what has many values: metrics, on each basis, and figures of the server."""
    of_bases = (f"{basis}_{metric}" for basis in BASES for metric in metrics.names())
    return (*metrics.names(), *of_bases, *SERVER_FIGURES)


def _split_basis(key: str) -> tuple[str, str | None]:
    if match := _BASIS.fullmatch(key):
        return match["name"], match["basis"]
    head, _, rest = key.partition("_")
    return (rest, head) if head in BASES and rest else (key, None)


def _rule(metric: str, basis: str | None, condition: str) -> Rule:
    match = None if len(condition) > _LONGEST else _CONDITION.fullmatch(condition.strip())
    if not match:
        raise RuleError(f"'{_short(condition)}' is no condition; write {_example(metric)}")
    operator = _operator(match["operator"])
    statistic = _statistic(match["statistic"], metric)
    unit = unit_of(metric)
    limit = parse_quantity(match["limit"], unit)
    rule = Rule(metric=metric, basis=basis, statistic=statistic, operator=operator, limit=limit)
    _demand_possible(rule)
    return rule


def _operator(text: str) -> Operator:
    try:
        return Operator(text)
    except ValueError:
        raise RuleError(f"'{text}' can't be judged; use one of {', '.join(Operator)}") from None


def _statistic(text: str, metric: str) -> Statistic | None:
    if metric in UNITS or metric in QUALITY_FIGURES:
        if text:
            raise RuleError(f"'{text}' of a single number; write {_example(metric)}")
        return None
    if not text:
        raise RuleError(
            f"which value of it? write {_example(metric)}, or mean, min, max or another percentile"
        )
    return parse_statistic(text)


def parse_statistic(text: str) -> Statistic:
    """``mean``, ``min``, ``max``, ``p99``, ``p99.9`` or k6's ``p(99)``.

    Raises:
        RuleError: None of these.
    """
    if text in _STATISTICS:
        return Statistic(text)
    match = _PERCENTILE.fullmatch(text)
    if not match:
        raise RuleError(
            f"'{text}' is no value of a metric; {_meant(text, (*_STATISTICS, 'p50', 'p95', 'p99'))}"
        )
    p = float(match[1] or match[2])
    if p in (0, 100):
        raise RuleError(f"'{text}' is the {'max' if p else 'min'}imum; write {'max' if p else 'min'}")
    if p > 100:
        raise RuleError(f"'{text}': a percentile lies between 0 and 100; p99.9 has a point")
    if float(write_number(p)) != p:
        raise RuleError(f"'{text}' has more digits than any run can tell apart; write p{p:.4f}")
    return Statistic("percentile", p)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:20]}…{text[-20:]}"


def _demand_possible(rule: Rule) -> None:
    """Refuse what no run, or every run, would meet."""
    top = 1.0 if rule.unit == SHARE else float("inf")
    if (rule.limit == 0 and rule.operator is Operator.BELOW) or (
        rule.limit == top and rule.operator is Operator.ABOVE
    ):
        raise RuleError(f"'{rule.condition}' can never hold; use {rule.operator}= instead")
    if (rule.limit == 0 and rule.operator is Operator.AT_LEAST) or (
        rule.limit == top and rule.operator is Operator.AT_MOST
    ):
        raise RuleError(f"'{rule.condition}' always holds; take it out")


def _meant(word: str, known: tuple[str, ...]) -> str:
    other = _OTHER_WORDS.get(word.lower().replace("-", "_"))
    if other in known:
        return f"did you mean '{other}'?"
    return did_you_mean(word, known)


def _example(metric: str) -> str:
    return {
        "ns": "'p99 < 500ms'",
        "tokens": "'min >= 1'",
        "stalls": "'p99 <= 0'",
        "requests": "'max <= 4'",
        "tokens/s": "'> 100 tokens/s'" if metric in UNITS else "'p5 >= 20 tokens/s'",
        "requests/s": "'>= 5/s'",
        "share": _share_example(metric),
        "": "'< 1.005'" if metric == "perplexity_ratio" else "'< 30'",
        "nats": "'< 0.01'",
    }[unit_of(metric)]


def _share_example(metric: str) -> str:
    if metric in SERVER_FIGURES:
        return "'max < 90%'"
    if metric in QUALITY_FIGURES:
        return "'> 98%'"
    if metric not in UNITS:
        return "'p5 >= 90%'"
    return "'< 1%'" if metric.startswith(ERROR_RATE) else "'>= 95%'"
