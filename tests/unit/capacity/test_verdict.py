"""What a run says about its load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from support.client_health import healthy
from support.result_folders import manifest

from harness.capacity.knee import tells
from harness.capacity.search import Step
from harness.capacity.verdict import probe_of
from harness.result_folder import Checkpoint
from reports.result import ErrorClass, Result, RuleResult, Verdict

if TYPE_CHECKING:
    from reports.capacity.search import Probe
    from tests.unit.capacity.conftest import MakeProbe

TOO_MUCH = "from 2 to 4 s the requests in flight grew: more was sent than the server can do (stop.saturation)"


@pytest.fixture
def result() -> Result:
    return Result(
        schema_version=1,
        tool_version="0",
        scenario_name="x",
        scenario={},
        base_url="",
        model="",
        endpoint="chat",
        loop="open",
        seed=0,
        started_at="",
        duration_s=60.0,
        window_s=(0.0, 60.0),
        verdict=None,
        causes=(),
        notes=(),
        interrupted=None,
        outcomes={},
        metrics=(),
        rates=(),
        rules=(),
        errors=(),
        timeline=(),
        requests=(),
        num_requests=500,
        samples=(),
        token_source="usage",
        health=healthy(achieved_rate=8.0, planned_rate=8.0),
        environment={},
    )


def _rule(verdict: Verdict, **fields: Any) -> RuleResult:
    values = {"observed": 1e8, "n": 500, "message": "so it is", "n_eff": 120.0, **fields}
    return RuleResult(
        rule="ttft p95 < 500ms",
        metric="ttft",
        limit=5e8,
        unit="ns",
        verdict=verdict,
        confidence=0.95,
        **values,
    )


def _probe(result: Result, *before: Probe, stopped: str | None = None, capped: bool = False) -> Probe:
    checkpoint = Checkpoint(
        elapsed_ns=1, finished=True, interrupted=None, health=result.health, stopped=stopped
    )
    return probe_of(Step(8, 2.0), before, result, manifest(capped=capped), checkpoint)


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE])
def test_what_a_run_says_of_itself(result: Result, verdict: Verdict) -> None:
    run = msgspec.structs.replace(result, verdict=verdict, rules=(_rule(verdict, more_needed=70),), causes=())
    probe = _probe(run)
    assert (probe.verdict, probe.load, probe.length, probe.number) == (verdict, 8, 2.0, 1)
    assert (probe.num_requests, probe.worth) == (500, 120)
    assert probe.more_needed == (70 if verdict is Verdict.INCONCLUSIVE else None)
    assert probe.reason == "ttft p95 < 500ms: so it is"
    assert not probe.saturated


def test_a_run_that_saturated_the_server_fails(result: Result) -> None:
    """Though what was sent of it decided nothing, or even passed."""
    run = msgspec.structs.replace(
        result, verdict=Verdict.INCONCLUSIVE, rules=(_rule(Verdict.PASS),), causes=()
    )
    probe = _probe(run, stopped=TOO_MUCH)
    assert (probe.verdict, probe.saturated, probe.reason) == (Verdict.FAIL, True, TOO_MUCH)
    assert probe.worth == 500


def test_a_client_that_could_not_keep_up_is_the_limit(result: Result) -> None:
    health = msgspec.structs.replace(result.health, achieved_rate=7.0, planned_rate=8.0, dropped_arrivals=0)
    cause = "7 requests/s were sent where 8 were due"
    run = msgspec.structs.replace(
        result, verdict=Verdict.INVALID, rules=(_rule(Verdict.PASS),), causes=(cause,), health=health
    )
    probe = _probe(run)
    assert probe.verdict is Verdict.INVALID
    assert probe.reason == f"the client and not the server is the limit: {cause}"
    assert _probe(run, capped=True).verdict is Verdict.INCONCLUSIVE


def test_refusing_most_requests_is_the_server_s_failure_where_it_answered_before(
    result: Result, make_probe: MakeProbe
) -> None:
    error = ErrorClass(outcome="rejected", detail="429", count=90, sample="busy")
    run = msgspec.structs.replace(
        result,
        verdict=Verdict.INVALID,
        rules=(_rule(Verdict.INVALID, observed=None, n=0),),
        causes=("90 of 100 requests failed",),
        errors=(error,),
        num_requests=100,
        health=msgspec.structs.replace(result.health, dropped_arrivals=0, achieved_rate=8, planned_rate=8),
    )
    assert _probe(run).verdict is Verdict.INVALID
    assert _probe(run, make_probe(4, "PASS")).verdict is Verdict.FAIL
    assert _probe(run, make_probe(16, "PASS")).verdict is Verdict.INVALID


def test_a_margin_that_the_client_s_error_eats_is_undecided(result: Result) -> None:
    run = msgspec.structs.replace(
        result,
        verdict=Verdict.INVALID,
        rules=(_rule(Verdict.INVALID),),
        causes=(),
        errors=(),
    )
    probe = _probe(run)
    assert (probe.verdict, probe.worth) == (Verdict.INCONCLUSIVE, 0)
    assert not tells(probe)


def test_no_sample_at_all_is_invalid(result: Result) -> None:
    run = msgspec.structs.replace(
        result,
        verdict=Verdict.INVALID,
        rules=(_rule(Verdict.INVALID, observed=None, n=0),),
        causes=("no request was measured: run longer",),
        errors=(),
        health=msgspec.structs.replace(result.health, dropped_arrivals=0, achieved_rate=8, planned_rate=8),
    )
    assert _probe(run).verdict is Verdict.INVALID
