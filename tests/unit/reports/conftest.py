"""Results as a run leaves them, made up but consistent."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

from reports.curves import curve
from reports.histogram import Histogram
from reports.result import (
    ClientHealth,
    ErrorClass,
    MetricSummary,
    Percentile,
    Rate,
    RequestRow,
    Result,
    RuleResult,
    Sample,
    TimePoint,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from reports.result import Curve

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)


@dataclasses.dataclass
class Run:
    """Random latencies of ``num`` requests over ``duration_s`` seconds, ns."""

    num: int
    duration_s: float
    seed: int = 7
    fail_share: float = 0.015

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self.start_s = np.sort(rng.uniform(0, self.duration_s, self.num))
        busy = 1 + 1.6 * np.exp(-(((self.start_s / self.duration_s - 0.62) / 0.07) ** 2))
        self.ttft = (rng.lognormal(np.log(84e6), 0.32, self.num) * busy).astype(np.int64)
        self.tpot = rng.lognormal(np.log(18.5e6), 0.09, self.num) * busy**0.35
        self.tokens = rng.integers(40, 128, self.num)
        self.prompt_tokens = rng.integers(60, 700, self.num)
        self.e2e = (self.ttft + self.tpot * (self.tokens - 1)).astype(np.int64)
        self.lag = rng.gamma(1.4, 45_000, self.num).astype(np.int64)
        self.failed = rng.uniform(size=self.num) < self.fail_share
        self.itl = (np.repeat(self.tpot, 40) * rng.lognormal(0, 0.16, self.num * 40)).astype(np.int64)
        self.itl_start_s = np.repeat(self.start_s, 40)


def histogram(values_ns: np.ndarray) -> Histogram:
    """Microseconds, as a recorder keeps them."""
    result = Histogram()
    result.record_many(np.rint(np.asarray(values_ns) / 1_000).astype(np.int64))
    return result


def percentiles(hist: Histogram, ps: tuple[float, ...], interval: bool = True) -> tuple[Percentile, ...]:
    if not hist.n:
        return ()
    result = []
    for p in ps:
        low, high = hist.percentile_interval(p) if interval else (None, None)
        result.append(
            Percentile(
                p=p,
                value=hist.percentile(p) * 1e3,
                low=None if low is None else low * 1e3,
                high=None if high is None else high * 1e3,
            )
        )
    return tuple(result)


def summary(name: str, basis: str | None, values_ns: np.ndarray, error: float | None) -> MetricSummary:
    hist = histogram(values_ns)
    return MetricSummary(
        name=name,
        basis=basis,
        unit="ns",
        n=hist.n,
        minimum=hist.minimum * 1e3,
        mean=hist.mean * 1e3,
        maximum=hist.maximum * 1e3,
        percentiles=percentiles(hist, PERCENTILES),
        client_error_p99=error,
    )


def rule(
    text: str, metric: str, hist: Histogram, p: float, limit_ms: float, verdict: Verdict, message: str = ""
) -> RuleResult:
    low, high = hist.percentile_interval(p)
    return RuleResult(
        rule=text,
        metric=metric,
        observed=hist.percentile(p) * 1e3,
        limit=limit_ms * 1e6,
        unit="ns",
        verdict=verdict,
        confidence=0.95,
        n=hist.n,
        low=None if low is None else low * 1e3,
        high=None if high is None else high * 1e3,
        message=message or f"{text} holds with 95 % confidence",
    )


def share_rule(text: str, metric: str, observed: float, limit: float, verdict: Verdict, n: int) -> RuleResult:
    return RuleResult(
        rule=text,
        metric=metric,
        observed=observed,
        limit=limit,
        unit="share",
        verdict=verdict,
        confidence=0.95,
        n=n,
        low=max(0.0, observed - 0.011),
        high=min(1.0, observed + 0.011),
        more_needed=240 if verdict is Verdict.INCONCLUSIVE else None,
        message="too few samples to say; 240 more would decide" if verdict is Verdict.INCONCLUSIVE else "",
    )


def time_points(run: Run, slices: int) -> tuple[TimePoint, ...]:
    length = run.duration_s / slices
    points = []
    end_s = run.start_s + run.e2e / 1e9
    for i in range(slices):
        start = i * length
        here = (run.start_s >= start) & (run.start_s < start + length)
        ended = (end_s >= start) & (end_s < start + length)
        gaps = run.itl[(run.itl_start_s >= start) & (run.itl_start_s < start + length)]
        points.append(
            TimePoint(
                start_s=start,
                length_s=length,
                in_flight=int(((run.start_s < start + length) & (end_s > start)).sum()),
                sent=int(here.sum()),
                completed=int((ended & ~run.failed).sum()),
                failed=int((here & run.failed).sum()),
                output_tokens=int(run.tokens[ended].sum()),
                ttft=percentiles(histogram(run.ttft[here & ~run.failed]), (50.0, 90.0, 99.0), False),
                itl=percentiles(histogram(gaps), (50.0, 90.0, 99.0), False),
                tpot=percentiles(histogram(run.tpot[ended & ~run.failed]), (50.0, 90.0, 99.0), False),
            )
        )
    return tuple(points)


def rows(run: Run, limit: int = 2_000) -> tuple[RequestRow, ...]:
    result = []
    for i in range(min(run.num, limit)):
        if run.failed[i]:
            kind, detail, message = (
                ("timeout", "first_token", "no token within 10 s of sending"),
                ("rejected", "429", '{"error":{"message":"queue full","type":"overloaded"}}'),
            )[i % 2]
            result.append(
                RequestRow(
                    index=i,
                    start_s=float(run.start_s[i]),
                    outcome=kind,
                    detail=detail,
                    measured=bool(run.start_s[i] > run.duration_s * 0.08),
                    e2e=int(run.e2e[i]),
                    schedule_lag=int(run.lag[i]),
                    message=message,
                )
            )
            continue
        result.append(
            RequestRow(
                index=i,
                start_s=float(run.start_s[i]),
                outcome="ok",
                measured=bool(run.start_s[i] > run.duration_s * 0.08),
                prompt_tokens=int(run.prompt_tokens[i]),
                output_tokens=int(run.tokens[i]),
                ttft=int(run.ttft[i]),
                tpot=float(run.tpot[i]),
                e2e=int(run.e2e[i]),
                schedule_lag=int(run.lag[i]),
            )
        )
    return tuple(result)


def curves(run: Run) -> tuple[Curve, ...]:
    ok = ~run.failed
    return tuple(
        curve(histogram(values), name, basis, "ns", 1e3)
        for name, basis, values in (
            ("ttft", "response", run.ttft[ok]),
            ("ttft", "service", (run.ttft - run.lag)[ok]),
            ("itl", None, run.itl),
            ("tpot", None, run.tpot[ok]),
            ("e2e", "response", run.e2e[ok]),
        )
    )


def metrics(run: Run) -> tuple[MetricSummary, ...]:
    ok = ~run.failed
    return (
        summary("ttft", "response", run.ttft[ok], 310_000),
        summary("ttft", "service", (run.ttft - run.lag)[ok], 180_000),
        summary("itl", None, run.itl, 180_000),
        summary("tpot", None, run.tpot[ok], 90_000),
        summary("e2e", "response", run.e2e[ok], 310_000),
        summary("e2e", "service", (run.e2e - run.lag)[ok], 180_000),
        summary("schedule_lag", None, run.lag, None),
        MetricSummary(
            name="ttfa",
            basis="response",
            unit="ns",
            n=0,
            reason="no reasoning tokens were seen, so ttfa equals ttft",
        ),
    )


def errors(run: Run) -> tuple[ErrorClass, ...]:
    failed = [row for row in rows(run) if row.message]
    kinds = {(row.outcome, row.detail): row.message for row in failed}
    return tuple(
        ErrorClass(
            outcome=outcome,
            detail=detail,
            count=sum((row.outcome, row.detail) == (outcome, detail) for row in failed),
            sample=sample,
        )
        for (outcome, detail), sample in kinds.items()
    )


def rules(run: Run) -> tuple[RuleResult, ...]:
    ok = ~run.failed
    ttft, itl, tpot = histogram(run.ttft[ok]), histogram(run.itl), histogram(run.tpot[ok])
    return (
        rule("ttft p99 < 500ms", "ttft", ttft, 99, 500, Verdict.PASS),
        rule("itl p99 < 50ms", "itl", itl, 99, 50, Verdict.PASS),
        rule(
            "tpot p95 < 22ms",
            "tpot",
            tpot,
            95,
            22,
            Verdict.FAIL,
            "tpot p95 is over its limit with 95 % confidence; lower the rate or raise the limit",
        ),
        share_rule(
            "error_rate < 1%", "error_rate", float(run.failed.mean()), 0.01, Verdict.INCONCLUSIVE, run.num
        ),
        share_rule("attainment > 95%", "attainment", 0.982, 0.95, Verdict.PASS, run.num),
    )


def result_of(run: Run, **changes: Any) -> Result:
    num_failed = int(run.failed.sum())
    tokens = int(run.tokens[~run.failed].sum())
    window = run.duration_s * 0.92
    result = Result(
        schema_version=1,
        tool_version="0.1.0",
        scenario_name="chat",
        scenario={
            "name": "chat",
            "load": {"arrivals": "poisson", "rate": run.num / run.duration_s, "duration": "60s"},
            "prompts": {"source": "synthetic", "tokens": {"mean": 380, "stdev": 120}},
            "sampling": {"max_tokens": 128, "temperature": 0.0},
            "objectives": ["ttft p99 < 500ms", "itl p99 < 50ms", "tpot p95 < 22ms"],
        },
        base_url="http://127.0.0.1:8000/v1",
        model="HuggingFaceTB/SmolLM2-135M-Instruct",
        endpoint="chat",
        loop="open",
        seed=42,
        started_at="2026-11-30T07:31:12+00:00",
        duration_s=run.duration_s,
        window_s=(run.duration_s * 0.08, run.duration_s),
        verdict=Verdict.FAIL,
        causes=(),
        notes=("Token counts come from the server's usage report.", "8 requests were on a cold connection."),
        interrupted=None,
        outcomes={"ok": run.num - num_failed} | {e.outcome: e.count for e in errors(run)},
        metrics=metrics(run),
        rates=(
            Rate(
                name="request_rate",
                unit="requests/s",
                value=run.num / window,
                numerator=run.num,
                denominator=window,
            ),
            Rate(
                name="output_token_rate",
                unit="tokens/s",
                value=tokens / window,
                numerator=tokens,
                denominator=window,
            ),
            Rate(name="input_token_rate", unit="tokens/s", value=float(run.prompt_tokens.sum() / window)),
            Rate(name="goodput", unit="requests/s", value=0.93 * run.num / window),
            Rate(
                name="attainment",
                unit="share",
                value=0.982,
                numerator=round(0.982 * run.num),
                denominator=run.num,
            ),
            Rate(
                name="error_rate",
                unit="share",
                value=num_failed / run.num,
                numerator=num_failed,
                denominator=run.num,
            ),
        ),
        rules=rules(run),
        errors=errors(run),
        timeline=time_points(run, max(1, min(60, round(run.duration_s)))),
        requests=rows(run),
        num_requests=run.num,
        samples=(
            Sample(
                index=3,
                prompt="Explain KV cache in 2 sentences.",
                answer="A KV cache keeps the keys and values of earlier tokens, so that each new token needs "
                "only its own. It trades memory for time: without it, every step would read the whole "
                "text again.",
            ),
            Sample(index=17, prompt="Name three rivers of Europe.", answer="Danube, Rhine and Volga."),
        ),
        token_source="usage",
        health=ClientHealth(
            loop_lag_p99=240_000,
            loop_lag_max=1_900_000,
            schedule_lag_p99=310_000,
            schedule_lag_max=2_050_000,
            gc_pause_max=0,
            gc_pause_total=0,
            cpu_share=0.31,
            coalesced_chunks=212,
            num_chunks=int(run.tokens.sum()),
            clock_resolution=1,
            achieved_rate=run.num / run.duration_s,
            planned_rate=run.num / run.duration_s,
        ),
        environment={
            "python": "3.11.7",
            "platform": "Linux-6.18-x86_64",
            "cpu": "Intel Xeon Processor, 2 cores",
            "load average": "0.42 0.31 0.22",
            "packages": {"aiohttp": "3.14.5", "uvloop": "0.22.1", "numpy": "2.4.0"},
        },
        curves=curves(run),
    )
    return msgspec.structs.replace(result, **changes)


@pytest.fixture(scope="session")
def make_result() -> Callable[..., Result]:
    """Makes a result of ``num`` requests in ``duration_s`` seconds, with fields changed as given."""

    def make(num: int = 900, duration_s: float = 60.0, fail_share: float = 0.015, **changes: Any) -> Result:
        return result_of(Run(num, duration_s, fail_share=fail_share), **changes)

    return make


@pytest.fixture(scope="session")
def result(make_result: Callable[..., Result]) -> Result:
    """An ordinary run: 900 requests in a minute, a few failures, one rule missed."""
    return make_result()


@pytest.fixture(scope="session")
def empty_result(make_result: Callable[..., Result]) -> Result:
    """A run in which nothing was measured."""
    return make_result(
        num=10,
        verdict=Verdict.INVALID,
        causes=("no request was answered: connection refused; start the server or correct --base-url",),
        outcomes={"connect_error": 10},
        metrics=tuple(
            MetricSummary(name=name, basis="response", unit="ns", n=0, reason="no successful request")
            for name in ("ttft", "e2e")
        ),
        rates=(Rate(name="goodput", unit="requests/s", value=None, reason="no request was answered"),),
        rules=(
            RuleResult(
                rule="ttft p99 < 500ms",
                metric="ttft",
                observed=None,
                limit=500e6,
                unit="ns",
                verdict=Verdict.INVALID,
                confidence=0.95,
                n=0,
                message="no samples",
            ),
        ),
        timeline=(),
        requests=(),
        samples=(),
        curves=(),
        errors=(
            ErrorClass(outcome="connect_error", detail="refused", count=10, sample="Connection refused"),
        ),
    )
