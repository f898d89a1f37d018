"""Snapshots of runs made by hand."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from harness.sla.grammar import rules_from
from harness.summary import Summarizer
from harness.window import Window
from reports.result import ClientHealth

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot
    from tests.conftest import MakeRecord


class MakeHealth(Protocol):
    """Makes the health of a harness that is fit, but for ``fields``."""

    def __call__(self, **fields: Any) -> ClientHealth:
        """With a loop lag of 100 us."""


class Take(Protocol):
    """Makes rules and the snapshot of a run whose requests have the given TTFTs."""

    def __call__(
        self,
        thresholds: Mapping[str, Iterable[str]],
        ttfts: Iterable[float] = ...,
        *,
        failed: int = ...,
        health: ClientHealth | None = ...,
        **options: Any,
    ) -> tuple[tuple[Rule, ...], Snapshot]:
        """TTFTs in ms; ``failed`` requests besides; in a random order, due 10 ms apart."""


@pytest.fixture
def make_health() -> MakeHealth:
    def make(**fields: Any) -> ClientHealth:
        fit = {
            "loop_lag_p99": 100_000,
            "loop_lag_max": 200_000,
            "schedule_lag_p99": 50_000,
            "schedule_lag_max": 90_000,
            "gc_pause_max": 0,
            "gc_pause_total": 0,
            "cpu_share": 0.1,
            "coalesced_chunks": 0,
            "num_chunks": 100,
            "clock_resolution": 1,
        }
        return ClientHealth(**{**fit, **fields})

    return make


@pytest.fixture
def take(make_record: MakeRecord) -> Take:
    def make(
        thresholds: Mapping[str, Iterable[str]],
        ttfts: Iterable[float] = (),
        *,
        failed: int = 0,
        health: ClientHealth | None = None,
        **options: Any,
    ) -> tuple[tuple[Rule, ...], Snapshot]:
        rules = rules_from(thresholds)
        summarizer = Summarizer(Window(), options.pop("loop", "open"), rules=rules, **options)
        outcomes = [*ttfts, *[None] * failed]
        random.Random(1).shuffle(outcomes)  # one after the other they would be one event
        for index, ttft in enumerate(outcomes):
            due = 10 * index
            if ttft is None:
                failure = make_record(index, due=due, chunks=(), outcome="http_error", detail="500")
                summarizer.add(failure)
            else:
                summarizer.add(make_record(index, due=due, chunks=(ttft, ttft + 20)))
        return rules, summarizer.snapshot(health=health)

    return make
