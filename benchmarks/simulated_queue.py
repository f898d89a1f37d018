"""A server that is a queue of many places (M/M/c), simulated in virtual time, and probed as a real one is.

Its response times have a distribution that is known exactly, so it is known at which rate a percentile of
them meets a limit. The probes go the way of real ones: the times of the requests are judged
by the same rules in the same way, and ``load.stop.saturation`` ends what the queue can't do.
"""

from __future__ import annotations

import dataclasses
import heapq
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from harness.drivers.saturation import Saturation
from harness.recorder import step as step_of
from harness.sla.grammar import rules_from
from harness.sla.judge import judge
from harness.summary import Summarizer
from harness.summary.due_order import Ordered
from harness.window import Window
from reports.capacity.search import Probe
from reports.histogram import Histogram
from reports.result import Verdict
from reports.run_row import Latency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.capacity.search import Step
    from harness.sla.judge import Judgement

    FloatArray = np.ndarray[Any, np.dtype[np.float64]]

_BIN_S = 0.1
_BINS_PER_LOOK = 10


class Queue:
    """``num_servers`` places, each of which serves ``1 / mean_s`` requests a second; times are exponential.

    Args:
        num_servers: c of M/M/c.
        mean_s: Mean time of service.
    """

    def __init__(self, num_servers: int, mean_s: float = 0.1) -> None:
        self.num_servers = num_servers
        self.mean_s = mean_s

    def share_beyond(self, rate: float, limit_s: float) -> float:
        """The share of response times beyond a limit at that rate (Gross and Harris, 2.3; Erlang's C)."""
        num, load, time = self.num_servers, rate * self.mean_s, limit_s / self.mean_s
        if load >= num:
            return 1.0
        terms = [load**k / math.factorial(k) for k in range(num)]
        waits = terms[-1] * load / num * num / (num - load)
        must_wait = waits / (sum(terms) + waits)
        spare = num - 1 - load
        grown = time if abs(spare) < 1e-9 else -math.expm1(-spare * time) / spare
        return math.exp(-time) * (1 + must_wait * grown)

    def knee(self, limit_s: float, p: float) -> float:
        """The rate at which the percentile ``p`` of the response times is ``limit_s``."""

        def excess(rate: float) -> float:
            return self.share_beyond(rate, limit_s) - (1 - p / 100)

        full = self.num_servers / self.mean_s
        return float(brentq(excess, 1e-6 * full, full * (1 - 1e-9)))

    def response_times(self, rng: np.random.Generator, due_s: FloatArray) -> FloatArray:
        """Of requests that are due then, served in order from empty."""
        services = rng.exponential(self.mean_s, due_s.size)
        free, done = [0.0] * self.num_servers, np.empty(due_s.size)
        for i, (due, service) in enumerate(zip(due_s.tolist(), services.tolist(), strict=True)):
            done[i] = max(due, free[0]) + service
            heapq.heapreplace(free, float(done[i]))
        return done - due_s


class QueueProber:
    """Probes of a queue; see ``harness.capacity.searching.Prober``.

    Args:
        queue: The server.
        limit_s: Of the one objective, a percentile of the TTFT.
        p: That percentile.
        num_requests: Measured by a probe of length 1.
        num_warmup: Sent before them.
        seed: Of all chance.
    """

    def __init__(
        self, queue: Queue, limit_s: float, p: float, num_requests: int, num_warmup: int, seed: int
    ) -> None:
        self._queue = queue
        self._rules = rules_from({"ttft": [f"p{p:g} < {limit_s * 1e3:g}ms"]})
        self._sizes = num_requests, num_warmup
        self._rng = np.random.default_rng(seed)

    async def __call__(self, step: Step, before: Sequence[Probe]) -> Probe:
        """One run in virtual time."""
        num = round(self._sizes[0] * step.length) + self._sizes[1]
        due_s = np.cumsum(self._rng.exponential(1 / step.load, num))
        done_s = due_s + self._queue.response_times(self._rng, due_s)
        stopped = _saturated(due_s, done_s)
        judgement = self._judge(due_s[self._sizes[1] :], done_s[self._sizes[1] :])
        (rule,) = judgement.rules
        times_ns = (done_s - due_s)[self._sizes[1] :] * 1e9
        p50, p95, p99 = (float(np.percentile(times_ns, p, method="inverted_cdf")) for p in (50, 95, 99))
        return Probe(
            number=len(before) + 1,
            load=step.load,
            length=step.length,
            verdict=Verdict.FAIL if stopped else rule.verdict,
            reason=stopped or rule.message,
            saturated=stopped is not None,
            num_requests=rule.n,
            num_independent=None if stopped else rule.n_eff,
            more_needed=rule.more_needed,
            duration_s=float(due_s[-1]),
            achieved=num / float(done_s.max()),
            latencies=(Latency(name="ttft", p50=p50, p95=p95, p99=p99),),
            rules=judgement.rules,
        )

    def _judge(self, due_s: FloatArray, done_s: FloatArray) -> Judgement:
        (rule,) = self._rules
        series, times_ns = rule.series("open"), np.round((done_s - due_s) * 1e9)
        histogram = Histogram()
        histogram.record_many(np.round(times_ns / step_of("ns")).astype(np.int64))
        empty = Summarizer(Window(), "open", rules=self._rules).snapshot()
        snapshot = dataclasses.replace(
            empty,
            num_requests=due_s.size,
            num_succeeded=due_s.size,
            histograms={**empty.histograms, series: histogram},
            due_order=Ordered(np.round(due_s * 1e9).astype(np.int64), {str(series): times_ns}),
        )
        return judge(self._rules, snapshot)


def _saturated(due_s: FloatArray, done_s: FloatArray) -> str | None:
    """Why ``load.stop.saturation`` would have ended the run; None where it would not."""
    end_s, saturation = float(due_s[-1]), Saturation(round(float(due_s[-1]) * 1e9 / 4))
    num_bins = int(end_s / _BIN_S) + 1
    ended = done_s < end_s
    begun_in = np.bincount((due_s / _BIN_S).astype(int), minlength=num_bins)
    places = (done_s[ended] / _BIN_S).astype(int)
    ended_in = np.bincount(places, minlength=num_bins)
    waits_ns = np.bincount(places, weights=(done_s - due_s)[ended] * 1e9, minlength=num_bins)
    steps, nums, waits = (begun_in - ended_in).tolist(), ended_in.tolist(), waits_ns.tolist()
    bins = list(zip(range(num_bins), steps, nums, waits, strict=True))
    for place in range(0, num_bins, _BINS_PER_LOOK):
        saturation.merge(bins[place : place + _BINS_PER_LOOK])
        if reason := saturation.look(round((place + _BINS_PER_LOOK) * _BIN_S * 1e9)):
            return reason
    return None
