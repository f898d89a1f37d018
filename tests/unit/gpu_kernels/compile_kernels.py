"""Compile every kernel for a GPU that need not be there, and print what each takes of it as JSON lines."""

from __future__ import annotations

import json
import sys
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from reference_server.kernels.gpu import paged_decode, paged_prefill, rms_norm, rope_store, silu_mul

INTEGERS = {
    "tables",
    "table_width",
    "contexts",
    "query_starts",
    "program_sequences",
    "program_firsts",
    "slots",
}
FLOATS = {"split_outputs", "split_logs"}
SCALARS = {
    "scale": "fp32",
    "epsilon": "fp32",
    **dict.fromkeys(
        ("query_stride", "qkv_stride", "angle_stride", "outer_stride", "inner_stride", "num_inner", "size"),
        "i32",
    ),
}


def signature(kernel: Any, constants: dict[str, Any], dtype: str) -> dict[str, str]:
    """The types of a kernel's arguments."""
    types = {}
    for name in kernel.arg_names:
        if name in constants:
            types[name] = "constexpr"
        elif name in SCALARS:
            types[name] = SCALARS[name]
        else:
            types[name] = "*i32" if name in INTEGERS else "*fp32" if name in FLOATS else f"*{dtype}"
    return types


def compile_kernel(kernel: Any, dtype: str, capability: int, num_warps: int, **constants: Any) -> None:
    """Down to machine code."""
    types = signature(kernel, constants, dtype)
    aligned = [(i,) for i, name in enumerate(kernel.arg_names) if types[name].startswith("*")]
    attributes = {place: [["tt.divisibility", 16]] for place in aligned}
    compiled = triton.compile(
        ASTSource(kernel, types, constants, attributes),
        target=GPUTarget("cuda", capability, 32),
        options={"num_warps": num_warps, "num_stages": 2},
    )
    told = {"kernel": kernel.__name__, "dtype": dtype, "capability": capability}
    told |= {"shared": compiled.metadata.shared, "bytes": len(compiled.asm["cubin"])}
    sys.stdout.write(json.dumps(told) + "\n")


def compile_all(dtype: str, capability: int, dim: int) -> None:
    """All kernels for one shape of heads."""
    exact = dtype == "fp32"
    heads = {"NUM_KV_HEADS": 2, "HEAD_DIM": dim, "BLOCK_SIZE": 16}
    tiles = {"DIM_PADDED": 1 << (dim - 1).bit_length(), "IN_FLOAT32": exact}
    compile_kernel(
        paged_decode.attend_to_split,
        dtype,
        capability,
        4,
        **heads,
        **tiles,
        GROUP=3,
        NUM_SPLITS=8,
        ROWS=16,
        TILE=paged_decode.TILE,
    )
    merged = {"HEAD_DIM": dim, "NUM_SPLITS": 8, "DIM_PADDED": tiles["DIM_PADDED"]}
    compile_kernel(paged_decode.merge_splits, dtype, capability, 2, **merged, TILE=paged_decode.TILE)
    compile_kernel(
        paged_prefill.attend_to_past,
        dtype,
        capability,
        4,
        **heads,
        **tiles,
        NUM_HEADS=6,
        ROWS=paged_prefill.ROWS,
        TILE=32 if exact else 64,
    )
    rotated = {"NUM_HEADS": 6, "HALF_PADDED": tiles["DIM_PADDED"] // 2, "HEADS": 8}
    compile_kernel(rope_store.rotate_and_store, dtype, capability, 2, **heads, **rotated)
    normed = {"HAS_DELTA": True, "SIZE_PADDED": 2048}
    compile_kernel(rms_norm.add_and_normalize, dtype, capability, 8, **normed)
    compile_kernel(rms_norm.add_and_normalize, dtype, capability, 8, **normed, num_inner=1)
    compile_kernel(silu_mul.gate, dtype, capability, 4, BLOCK=1024)


if __name__ == "__main__":
    compile_all(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
