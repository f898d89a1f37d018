"""Every kernel compiles to machine code for GPUs that need not be there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MAX_SHARED_BYTES = {80: 163 * 1024, 90: 227 * 1024}
SCRIPT = Path(__file__).with_name("compile_kernels.py")


@pytest.mark.parametrize(
    ("dtype", "capability", "dim"), [("bf16", 90, 128), pytest.param("fp32", 80, 80, marks=pytest.mark.soak)]
)
def test_kernels_compile_and_fit(dtype: str, capability: int, dim: int, tmp_path: Path) -> None:
    environment = os.environ | {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, SCRIPT, dtype, str(capability), str(dim)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    kernels = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(kernels) == 7
    assert max(kernel["shared"] for kernel in kernels) <= MAX_SHARED_BYTES[capability]
    assert min(kernel["bytes"] for kernel in kernels) > 0
