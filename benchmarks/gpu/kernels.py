"""Each Triton kernel against its twin on the device, and the bytes per second that attention reaches."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from clock import device_us

from reference_server.kernels.gpu_kernels import gpu_kernels, kernel_names

CONTEXT = 4096
BLOCK_SIZE = 16
SHAPES = {"32 heads, 32 key heads": (32, 32, 64), "32 heads, 8 key heads": (32, 8, 128)}


def measure(found: dict[str, Any], quick: bool) -> dict[str, Any]:
    """Agreement; time and bandwidth of decoding attention at batch 1 and 32."""
    device = torch.device("cuda")
    agreement = {
        f"{name} agrees": bool(import_module(f"reference_server.kernels.gpu.{name}").agrees(device))
        for name in kernel_names()
    }
    if not gpu_kernels().serve:
        raise RuntimeError(gpu_kernels().note)
    read_rate = found["roofline"].get("read_gb_per_s", float("nan"))
    rows: dict[str, Any] = {}
    for name, heads in SHAPES.items():
        for batch_size in (1, 32):
            rows[f"{name}, batch {batch_size}"] = decode(batch_size, *heads, read_rate, 10 if quick else 30)
    return agreement | {"decoding attention, one layer, 4,096 tokens": rows}


def decode(
    batch_size: int, num_heads: int, num_kv_heads: int, dim: int, read_rate: float, repeats: int
) -> dict[str, float]:
    """One call over scattered blocks, in a graph."""
    from reference_server.kernels.gpu.paged_decode import Tables, choose_num_splits, paged_decode

    width = CONTEXT // BLOCK_SIZE
    num_blocks = batch_size * width
    pool = torch.randn(num_blocks + 1, 2, num_kv_heads, BLOCK_SIZE, dim, device="cuda", dtype=torch.bfloat16)
    query = torch.randn(batch_size, num_heads, dim, device="cuda", dtype=torch.bfloat16)
    tables = Tables(
        blocks=(torch.randperm(num_blocks, device="cuda") + 1).int(),
        width=torch.tensor([width], dtype=torch.int32, device="cuda"),
        contexts=torch.full((batch_size,), CONTEXT, dtype=torch.int32, device="cuda"),
    )
    output = torch.empty_like(query)
    num_splits = choose_num_splits(batch_size, num_kv_heads, CONTEXT, query.device)
    paged_decode(query, pool, tables, output, num_splits)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        paged_decode(query, pool, tables, output, num_splits)
    microseconds = device_us(graph.replay, repeats)
    rate = pool[1:].nbytes / microseconds / 1e3
    return {
        "us": microseconds,
        "splits": num_splits,
        "gb_per_s": rate,
        "share_of_read_rate": rate / read_rate,
    }
