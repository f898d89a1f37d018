"""One run among several, in the tables of a search or a sweep."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from reports.result import Result, RuleResult

TIMES: Final = ("ttft", "tpot", "e2e")
PERCENTILES: Final = (50.0, 95.0, 99.0)


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Percentiles of one metric, in ns; None without samples.

    Attributes:
        name: ``ttft``, ``tpot`` or ``e2e``.
        p50: The median.
        p95: Likewise.
        p99: Likewise.
    """

    name: str
    p50: float | None
    p95: float | None
    p99: float | None


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to.

    Attributes:
        achieved: Requests per second that were answered.
        goodput: Those that met every objective of single requests; None without such.
        attainment: Share of them.
        error_rate: Share of failures.
        output_token_rate: Tokens per second.
        latencies: TTFT, TPOT and end-to-end time.
        rules: The objectives, judged.
        folder: Its result folder, within that of all runs; empty where it left none.
        drained: How the server was found when it was over.
    """

    achieved: float | None = None
    goodput: float | None = None
    attainment: float | None = None
    error_rate: float | None = None
    output_token_rate: float | None = None
    latencies: tuple[Latency, ...] = ()
    rules: tuple[RuleResult, ...] = ()
    folder: str = ""
    drained: str = ""

    def latency(self, name: str) -> Latency | None:
        """That of a metric; None where the run has none."""
        return next((each for each in self.latencies if each.name == name), None)

    def p95(self, name: str) -> float | None:
        """The 95th percentile of a metric in ns; None without samples."""
        latency = self.latency(name)
        return None if latency is None else latency.p95


def figures_of(result: Result) -> dict[str, Any]:
    """The fields of a ``RunRow`` that a result gives."""
    return {
        "achieved": _rate(result, "request_rate"),
        "goodput": _rate(result, "goodput"),
        "attainment": _rate(result, "attainment"),
        "error_rate": _rate(result, "error_rate"),
        "output_token_rate": _rate(result, "output_token_rate"),
        "latencies": tuple(_latency(result, name) for name in TIMES),
        "rules": result.rules,
    }


def _rate(result: Result, name: str) -> float | None:
    rate = result.rate(name)
    return None if rate is None else rate.value


def _latency(result: Result, name: str) -> Latency:
    summary = result.metric(name)
    p50, p95, p99 = (
        None if summary is None or (found := summary.percentile(p)) is None else found.value
        for p in PERCENTILES
    )
    return Latency(name=name, p50=p50, p95=p95, p99=p99)
