"""A Prometheus histogram that costs a bisection per observation: it is on the path of every token."""

from __future__ import annotations

import bisect
import math
import time
from typing import TYPE_CHECKING

from prometheus_client.core import HistogramMetricFamily

if TYPE_CHECKING:
    from collections.abc import Iterable


class Histogram:
    """Counts of observations at or below given edges.

    Args:
        name: In full, such as ``vllm:time_to_first_token_seconds``.
        documentation: One line.
        edges: Upper bounds, ascending, without infinity.
    """

    def __init__(self, name: str, documentation: str, edges: Iterable[float]) -> None:
        self.name = name
        self._documentation = documentation
        self._edges = [float(edge) for edge in edges]
        self._counts = [0] * (len(self._edges) + 1)
        self._sum = 0.0
        self._created = time.time()

    def observe(self, value: float, times: int = 1) -> None:
        """Count ``value`` so many times."""
        self._counts[bisect.bisect_left(self._edges, value)] += times
        self._sum += value * times

    def family(self, labels: dict[str, str]) -> HistogramMetricFamily:
        """The state as Prometheus wants it: cumulative counts."""
        family = HistogramMetricFamily(self.name, self._documentation, labels=list(labels))
        buckets: list[tuple[str, float]] = []
        total = 0
        for edge, count in zip([*self._edges, math.inf], self._counts, strict=True):
            total += count
            buckets.append(("+Inf" if edge == math.inf else repr(edge), total))
        family.add_metric(list(labels.values()), buckets, self._sum)
        family.add_sample(f"{self.name}_created", labels, self._created)
        return family
