"""Count HTTP requests and their times by path, method and status class."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from reference_server.api.buckets import HTTP_S
from reference_server.api.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HttpMetrics:
    """Requests and durations seen at the door."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._durations: dict[tuple[str, str], Histogram] = {}

    def observe(self, handler: str, method: str, status: int, duration_s: float) -> None:
        """A request was answered; ``handler`` is the path as routed, ``none`` if there is none."""
        self._requests[handler, method, f"{status // 100}xx"] += 1
        if (handler, method) not in self._durations:
            self._durations[handler, method] = Histogram("http_request_duration_seconds", "", HTTP_S)
        self._durations[handler, method].observe(duration_s)

    def collect(self) -> Iterator[Metric]:
        """All of it, for Prometheus."""
        requests = CounterMetricFamily(
            "http_requests", "HTTP requests answered.", labels=["handler", "method", "status"]
        )
        for labels, count in self._requests.items():
            requests.add_metric(labels, count)
        yield requests
        durations = HistogramMetricFamily(
            "http_request_duration_seconds", "Time to the end of the reply.", labels=["handler", "method"]
        )
        for (handler, method), histogram in self._durations.items():
            durations.samples += histogram.family({"handler": handler, "method": method}).samples
        yield durations


class HttpMetricsMiddleware:
    """Plain ASGI, so that streams pass through untouched."""

    def __init__(self, app: ASGIApp, metrics: HttpMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and look at its status."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500
        started = time.monotonic()

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            handler = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if handler != "none" else "any"
            self._metrics.observe(handler, method, status, time.monotonic() - started)
