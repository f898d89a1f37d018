"""What benchmarks/gpu.sh needs of a machine: torch and numpy. Everything else may be missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
GPU = ROOT / "benchmarks" / "gpu"

SCRIPT = """
import dataclasses, importlib.abc, sys

MISSING = {"aiohttp", "click", "fastapi", "hdrh", "httpx", "pydantic", "rich", "tokenizers", "uvicorn", "zmq"}


class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Missing())
import gguf, kernels, msgspec, random_model, roofline, steps, throughput

assert "stand_in" in msgspec.__file__ and "stand_in" in gguf.__file__
random_model.DEVICE = "cpu"
small = {"num_layers": 2, "vocab_size": 512, "hidden_size": 64, "intermediate_size": 128}
shape = dataclasses.replace(random_model.shape(True), num_heads=4, num_kv_heads=2, head_dim=16, **small)
engine = random_model.make_engine(shape, cpu_threads=1, dtype="float32")
engine.add(random_model.request(0, 10, 5, 512))
print(sum(len(output.token_ids) for _ in range(5) for output in engine.step()), engine.has_work)
"""


def test_the_engine_runs_with_stand_ins_for_what_is_missing() -> None:
    stand_ins = [str(GPU / "stand_in" / f"for_{name}") for name in ("msgspec", "gguf")]
    path = os.pathsep.join([*stand_ins, str(GPU), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["5", "False"]


def test_every_package_that_may_be_missing_has_its_stand_in() -> None:
    script = (ROOT / "benchmarks" / "gpu.sh").read_text()
    line = next(line for line in script.splitlines() if line.startswith("for package in"))
    named = line.removeprefix("for package in").partition(";")[0].split()
    assert {f"for_{name}" for name in named} == {folder.name for folder in (GPU / "stand_in").iterdir()}
