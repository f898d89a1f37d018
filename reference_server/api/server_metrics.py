"""All that ``/metrics`` shows, in a registry of its own. A fault in here never reaches a request."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from reference_server.api.engine_metrics import collect_engine
from reference_server.api.http_metrics import HttpMetrics
from reference_server.api.llamacpp_metrics import collect_llamacpp
from reference_server.api.request_metrics import RequestMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from reference_server.engine.request import EngineInfo, EngineStats

_logger = logging.getLogger(__name__)


class Harmless:
    """``with`` it: gives the request metrics; a fault in them is logged and goes no further."""

    def __init__(self, requests: RequestMetrics) -> None:
        self._requests = requests

    def __enter__(self) -> RequestMetrics:
        return self._requests

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        del kind, trace
        if not isinstance(error, Exception):
            return False
        _logger.error("a metric could not be recorded", exc_info=error)
        return True


class ServerMetrics(Collector):
    """The server's numbers.

    Args:
        model_name: Label of every ``vllm:`` metric.
        info: Of the engine.
        stats: Tells the engine's state.
        num_rejections: Tells how many requests were turned away.
    """

    def __init__(
        self,
        model_name: str,
        info: EngineInfo,
        stats: Callable[[], EngineStats],
        num_rejections: Callable[[], int],
    ) -> None:
        self.http = HttpMetrics()
        self.requests = RequestMetrics(info.max_model_len)
        self.harmless = Harmless(self.requests)
        self._labels = {"model_name": model_name, "engine": "0"}
        self._info = info
        self._stats = stats
        self._num_rejections = num_rejections
        self._registry = CollectorRegistry()
        for collector in (GCCollector, PlatformCollector, ProcessCollector):
            collector(registry=self._registry)
        self._registry.register(self)

    def on_step(self, stats: EngineStats) -> None:
        """The engine made a step."""
        if stats.step_tokens:
            with self.harmless as metrics:
                metrics.on_step(stats.step_tokens)

    def render(self) -> bytes:
        """The text exposition."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """The metrics of the server itself, beside those of the process."""
        yield from collect_engine(self._labels, self._info, self._stats())
        yield from collect_llamacpp(self._stats())
        yield from self.requests.collect(self._labels)
        yield self._rejections()
        yield from self.http.collect()

    def _rejections(self) -> Metric:
        family = CounterMetricFamily(
            "vllm:admission_rejections", "Requests turned away.", labels=["model_name", "reason"]
        )
        family.add_metric([self._labels["model_name"], "max_num_queued_reqs"], self._num_rejections())
        return family
