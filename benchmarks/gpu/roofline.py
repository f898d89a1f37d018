"""What this device reaches at best: bytes read per second, products per second, the cost of a launch."""

from __future__ import annotations

from typing import Any

import torch
from clock import device_us

READ_BYTES = 4 << 30
MATRIX_SIZE = 8192
NUM_EMPTY = 200


def measure(found: dict[str, Any], quick: bool) -> dict[str, Any]:
    """Streaming read, bfloat16 matrix product, and a graph of small kernels."""
    del found
    return {
        "read_gb_per_s": read_rate(READ_BYTES // (4 if quick else 1)),
        "copy_gb_per_s": copy_rate(READ_BYTES // (4 if quick else 2)),
        "bf16_tflop_per_s": product_rate(MATRIX_SIZE // (2 if quick else 1)),
        "kernel_in_graph_us": launch_us(),
    }


def read_rate(num_bytes: int) -> float:
    """Of a sum over float32."""
    data = torch.zeros(num_bytes // 4, device="cuda")
    return num_bytes / device_us(data.sum, 10) / 1e3


def copy_rate(num_bytes: int) -> float:
    """Bytes read and written by a copy."""
    data = torch.zeros(num_bytes, dtype=torch.int8, device="cuda")
    target = torch.empty_like(data)
    return 2 * num_bytes / device_us(lambda: target.copy_(data), 10) / 1e3


def product_rate(size: int) -> float:
    """Of random matrices."""
    left, right = torch.randn(2, size, size, device="cuda", dtype=torch.bfloat16)
    return 2 * size**3 / device_us(lambda: left @ right, 10, flush=False) / 1e6


def launch_us() -> float:
    """Of one kernel among many in a graph."""
    data = torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    data.add_(1)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(NUM_EMPTY):
            data.add_(1)
    return device_us(graph.replay, flush=False) / NUM_EMPTY
