"""Probes made by hand, and a server whose capacity is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

from harness.capacity.answer import Question
from harness.capacity.search import Limits
from reports.capacity.search import Probe
from reports.result import RuleResult, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.capacity.search import Step


class MakeProbe(Protocol):
    """Makes a probe."""

    def __call__(self, load: float, verdict: str, **fields: Any) -> Probe:
        """With 400 samples of the scenario's own length."""


class MakeLimits(Protocol):
    """Makes limits."""

    def __call__(self, **fields: Any) -> Limits:
        """From load 4, 16 probes, 10 %, no end of time."""


class SteadyServer:
    """A prober: passes up to its capacity and fails beyond, but for loads that are given another verdict.

    Args:
        capacity: The largest load that passes.
        others: Verdicts by load, each used up by its probes in order.
        judge: Another rule than that; None for it.
    """

    def __init__(
        self,
        capacity: float,
        others: dict[float, list[str]] | None = None,
        judge: Callable[[Step], str | None] = lambda _: None,
    ) -> None:
        self.steps: list[Step] = []
        self._capacity = capacity
        self._others = others or {}
        self._judge = judge

    async def __call__(self, step: Step, before: Sequence[Probe]) -> Probe:
        """One probe, of ten seconds."""
        self.steps.append(step)
        left = self._others.get(step.load)
        verdict = (left.pop(0) if left else None) or self._judge(step)
        verdict = verdict or ("PASS" if step.load <= self._capacity else "FAIL")
        return _probe(step.load, verdict, number=len(before) + 1, length=step.length)


@pytest.fixture
def make_probe() -> MakeProbe:
    return _probe


def _probe(load: float, verdict: str, **fields: Any) -> Probe:
    rule = RuleResult(
        rule="ttft p95 < 500ms",
        metric="ttft",
        observed=600e6 if fields.pop("missed", verdict == "FAIL") else 400e6,
        limit=500e6,
        unit="ns",
        verdict=Verdict(verdict),
        confidence=0.95,
        n=400,
        message="because",
    )
    values = {"number": 1, "length": 1.0, "num_requests": 400, "duration_s": 10.0, "rules": (rule,), **fields}
    return Probe(load=load, verdict=Verdict(verdict), reason="because", **values)


@pytest.fixture
def make_limits() -> MakeLimits:
    def make(**fields: Any) -> Limits:
        values = {
            "start": 4.0,
            "lowest": 0.004,
            "highest": None,
            "whole": False,
            "confidence": 0.95,
            "precision": 0.1,
            "max_probes": 16,
            "max_time_s": 1e9,
            "expect_s": lambda _: 0.0,
        }
        return Limits(**{**values, **fields})

    return make


@pytest.fixture
def question() -> Question:
    return Question(
        scenario_name="chat",
        scenario={"name": "chat", "load": {"arrivals": "poisson", "rate": 4}},
        key="load.rate",
        unit="requests/s",
        objectives=("ttft p95 < 500ms",),
        base_url="http://127.0.0.1:1/v1",
        model="tiny",
        started_at="2026-11-30T12:00:00+00:00",
    )


@pytest.fixture
def steady_server() -> type[SteadyServer]:
    return SteadyServer
