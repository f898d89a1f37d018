"""A run that was never made, as arrays."""

from __future__ import annotations

import dataclasses

import numpy as np

from reports.histogram import Histogram


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
