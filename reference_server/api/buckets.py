"""Edges of the histograms: vLLM's, and below them finer ones for models whose tokens take under 10 ms."""

from __future__ import annotations

TTFT_S = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5),
    *(10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
TOKEN_GAP_S = (
    *(0.0005, 0.001, 0.002, 0.005),
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5),
    *(10.0, 20.0, 40.0, 80.0),
)
REQUEST_S = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0),
    *(120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0),
)
HTTP_S = (0.1, 0.5, 1.0)
STEP_TOKENS = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
CHOICES = (1, 2, 5, 10, 20)
PREEMPTIONS = (1, 2, 3, 4, 5, 10, 20)


def one_two_five(largest: int) -> list[int]:
    """1, 2, 5, 10, 20, 50 ... up to ``largest``.

    >>> one_two_five(100)
    [1, 2, 5, 10, 20, 50, 100]
    """
    edges: list[int] = []
    scale = 1
    while True:
        for factor in (1, 2, 5):
            if factor * scale > largest:
                return edges
            edges.append(factor * scale)
        scale *= 10
