"""The result of a simulated run: made up but consistent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from support.client_health import healthy
from support.simulated_numbers import curves, metrics, ns, rows, time_points
from support.simulated_run import Run, histogram

from reports.result import (
    ErrorClass,
    Rate,
    Result,
    RuleResult,
    Sample,
    Verdict,
)

if TYPE_CHECKING:
    from reports.histogram import Histogram

LOAD: Final = {"arrivals": "poisson", "duration": "60s"}
SCENARIO: Final = {
    "name": "chat",
    "prompts": {"source": "synthetic", "tokens": {"mean": 380, "stdev": 120}},
    "sampling": {"max_tokens": 128, "temperature": 0.0},
    "objectives": ["ttft p99 < 500ms", "itl p99 < 50ms", "tpot p95 < 22ms"],
}
SAMPLES: Final = (
    Sample(
        index=3,
        prompt="Explain KV cache in 2 sentences.",
        answer="A KV cache keeps the keys and values of earlier tokens, so that each new token needs only "
        "its own. It trades memory for time: without it, every step would read the whole text again.",
    ),
    Sample(index=17, prompt="Name three rivers of Europe.", answer="Danube, Rhine and Volga."),
)
ENVIRONMENT: Final = {
    "python": "3.11.7",
    "platform": "Linux-6.18-x86_64",
    "cpu": "Intel Xeon Processor, 2 cores",
    "load average": "0.42 0.31 0.22",
    "packages": {"aiohttp": "3.14.5", "uvloop": "0.22.1", "numpy": "2.4.0"},
}


def result_of(run: Run, **changes: Any) -> Result:
    num_failed = int(run.failed.sum())
    result = Result(
        schema_version=1,
        tool_version="0.1.0",
        scenario_name="chat",
        scenario=SCENARIO
        | {"load": {"arrivals": "poisson", "rate": run.num / run.duration_s, "duration": "60s"}},
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
        rates=rates(run),
        rules=rules(run),
        errors=errors(run),
        timeline=time_points(run, max(1, min(60, round(run.duration_s)))),
        requests=rows(run),
        num_requests=run.num,
        samples=SAMPLES,
        token_source="usage",
        health=healthy(
            loop_lag_p99=240_000,
            loop_lag_max=1_900_000,
            schedule_lag_p99=310_000,
            schedule_lag_max=2_050_000,
            cpu_share=0.31,
            coalesced_chunks=212,
            num_chunks=int(run.tokens.sum()),
            achieved_rate=run.num / run.duration_s,
            planned_rate=run.num / run.duration_s,
        ),
        environment=ENVIRONMENT,
        curves=curves(run),
    )
    return msgspec.structs.replace(result, **changes)


def rates(run: Run) -> tuple[Rate, ...]:
    num_failed, tokens = int(run.failed.sum()), int(run.tokens[~run.failed].sum())
    window = run.duration_s * 0.92
    return (
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
        low=ns(low),
        high=ns(high),
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
