"""Whether Triton's kernels can be interpreted here."""

from __future__ import annotations

import numpy as np
import pytest


def skip_unless_interpreted() -> None:
    """Skip a test that needs Triton's interpreter, and say what is missing."""
    triton = pytest.importorskip("triton", reason="Triton is not installed: its kernels can't be interpreted")
    if not triton.knobs.runtime.interpret:
        pytest.skip("TRITON_INTERPRET is not 1: kernels would be compiled for a GPU")
    if triton.__version__ < "3.7" and np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        pytest.skip(f"Triton {triton.__version__} can't interpret loops with numpy {np.__version__}")
