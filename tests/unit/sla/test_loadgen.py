"""Early stopping decides as MLPerf LoadGen does, run here against a server that answers at once, or late."""

from __future__ import annotations

import random
import re
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from harness.sla.statistics import Decision, decide_share, samples_needed

if TYPE_CHECKING:
    from pathlib import Path

loadgen = pytest.importorskip("mlperf_loadgen", reason="mlcommons-loadgen has no wheel for this platform")

CONFIDENCE = 0.99
"""LoadGen's own."""
TARGET_NS = 10_000_000
_SAID = re.compile(r'"key": "(result_\w*query_count|early_stopping_met)", "value": (\w+)')
PERCENTILES = (0.5, 0.9, 0.95, 0.97, 0.99, 0.999)


class Case(NamedTuple):
    """So many queries, the first ``misses`` of them late, against a percentile."""

    n: int
    misses: int
    percentile: float


class Decided(NamedTuple):
    """What LoadGen counted, and whether it would stop."""

    n: int
    misses: int
    is_met: bool


def cases(num: int) -> list[Case]:
    """Around the limit as well as far from it."""
    chance, found = random.Random(4), []
    for _ in range(num):
        percentile = chance.choice(PERCENTILES)
        n = round(chance.uniform(0.3, 30) / (1 - percentile))
        share = (1 - percentile) * chance.choice((0, 0.1, 0.2, 0.3, 0.5, 1.2))
        found.append(Case(n, min(n - 1, round(n * share)), percentile))
    return found


def decided_by_loadgen(case: Case, folder: Path) -> Decided:
    """Run its Server scenario. Queries that were late by chance are counted too: it says how many."""
    held: list[int] = []
    issued = 0

    def issue(queries: list[Any]) -> None:
        nonlocal issued
        in_time = []
        for query in queries:
            issued += 1
            (held if issued <= case.misses else in_time).append(query.id)
        _complete(in_time)

    def flush() -> None:
        time.sleep(1.2 * TARGET_NS / 1e9)
        _complete(held)

    system = loadgen.ConstructSUT(issue, flush)
    library = loadgen.ConstructQSL(8, 8, lambda _: None, lambda _: None)
    loadgen.StartTestWithLogSettings(system, library, _settings(case), _log_settings(folder), "")
    loadgen.DestroyQSL(library)
    loadgen.DestroySUT(system)
    said = dict(_SAID.findall((folder / "mlperf_log_detail.txt").read_text()))
    return Decided(
        int(said["result_query_count"]),
        int(said["result_overlatency_query_count"]),
        said["early_stopping_met"] == "true",
    )


def _complete(ids: list[int]) -> None:
    if ids:
        loadgen.QuerySamplesComplete([loadgen.QuerySampleResponse(each, 0, 0) for each in ids])


def _settings(case: Case) -> Any:
    settings = loadgen.TestSettings()
    settings.scenario = loadgen.TestScenario.Server
    settings.mode = loadgen.TestMode.PerformanceOnly
    settings.server_target_qps = 500_000
    settings.server_coalesce_queries = True
    settings.server_target_latency_ns = TARGET_NS
    settings.server_target_latency_percentile = case.percentile
    settings.min_query_count = settings.max_query_count = case.n
    settings.min_duration_ms = 0
    return settings


def _log_settings(folder: Path) -> Any:
    output = loadgen.LogOutputSettings()
    output.outdir = str(folder)
    settings = loadgen.LogSettings()
    settings.log_output = output
    settings.enable_trace = False
    return settings


def _compare(num: int, folder: Path) -> list[Decided]:
    found = []
    for case in cases(num):
        decided = decided_by_loadgen(case, folder)
        allowed = 1 - case.percentile
        ours = decide_share(decided.misses, decided.n, allowed, CONFIDENCE) is Decision.TRUE
        assert ours == decided.is_met, (case, decided)
        found.append(decided)
    return found


def test_decisions_are_those_of_loadgen(tmp_path: Path) -> None:
    """Random cases; both sorts of decision occur."""
    found = _compare(50, tmp_path)
    assert 10 <= sum(each.is_met for each in found) <= 40


@pytest.mark.soak
def test_a_thousand_decisions_are_those_of_loadgen(tmp_path: Path) -> None:
    _compare(1_000, tmp_path)


@pytest.mark.parametrize(("n", "misses", "percentile"), [(700, 0, 0.99), (500, 5, 0.95)])
def test_cases_are_what_loadgen_was_given(n: int, misses: int, percentile: float, tmp_path: Path) -> None:
    """Unless the machine was so busy that more were late."""
    decided = decided_by_loadgen(Case(n, misses, percentile), tmp_path)
    assert decided.n == n
    assert decided.misses >= misses
    assert samples_needed(0, n, 1 - percentile, CONFIDENCE) is not None
