"""Result folders of runs that were never made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pytest
from support.client_health import healthy
from support.result_folders import result_folder

from harness.result_folder import Checkpoint
from harness.run import report

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MakeRecord


class MakeRun(Protocol):
    """Makes a result folder."""

    def __call__(
        self,
        name: str,
        *,
        num: int = ...,
        ttft_ms: float = ...,
        noise: int = ...,
        failing: int = ...,
        lag_ms: float = ...,
        finished: bool = ...,
        **scenario: Any,
    ) -> Path:
        """A run of 100 requests/s; ``noise`` is the seed of the server's chance."""


@pytest.fixture
def make_run(tmp_path: Path, make_record: MakeRecord) -> MakeRun:
    """TTFT log-normal about ``ttft_ms``, three further tokens 10 ms apart."""

    def make(
        name: str,
        *,
        num: int = 300,
        ttft_ms: float = 100.0,
        noise: int = 0,
        failing: int = 0,
        lag_ms: float = 0.1,
        finished: bool = True,
        **scenario: Any,
    ) -> Path:
        stated = {
            "name": "probe",
            "load": {"arrivals": "constant", "rate": 100.0, "requests": num},
            "prompts": {"source": "text", "text": ["Hi"]},
            "sampling": {"max_tokens": 4},
            "thresholds": {"ttft": ["p50 < 10s"]},
            "seed": 0,
        }
        rng = np.random.default_rng(noise)
        times = ttft_ms * np.exp(0.2 * rng.standard_normal(num))
        records = [
            make_record(index, due=10 * index, chunks=(), outcome="reset", message="gone")
            if index < failing
            else make_record(index, due=10 * index, chunks=tuple(first + 10 * k for k in range(4)))
            for index, first in enumerate(times)
        ]
        folder = result_folder(
            tmp_path / name,
            records,
            scenario=stated | scenario,
            model=str(scenario.get("model", "m")),
            started_at=f"2026-11-30T10:00:00+00:{noise:02}",
        )
        lag = round(lag_ms * 1e6)
        health = healthy(loop_lag_p99=lag, loop_lag_max=lag)
        elapsed = max(record.done_ns for record in records)
        folder.save(Checkpoint(elapsed_ns=elapsed, finished=finished, interrupted=None, health=health))
        report(folder, ())
        return folder.path

    return make
