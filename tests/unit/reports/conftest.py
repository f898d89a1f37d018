"""Results as a run leaves them, made up but consistent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.simulated_result import result_of
from support.simulated_run import Run

from reports.result import ErrorClass, MetricSummary, Rate, RuleResult, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from reports.result import Result


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
