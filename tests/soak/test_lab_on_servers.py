"""An experiment on servers that it starts itself."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from reports.lab.table import load

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

TEXT = """
schema: 1
name: tiny
question: What does padding cost a model of random weights?
prediction: Something.
model: tiny-random
server: {max_num_seqs: 4, dtype: float32, device: cpu}
variants: {static: {batching: static}, continuous: {}, recomputed: {kv_cache: off}}
scenario:
  load: {arrivals: closed, concurrency: 8, requests: 24}
  prompts: {source: text, text: [Hello there, And you]}
  sampling: {temperature: 0, ignore_eos: true, max_tokens: {min: 2, max: 40}}
figures: [output_token_rate]
costs: {free_rows: 2}
repeats: 2
"""


def test_every_variant_is_served_and_answers_all(tmp_path: Path) -> None:
    path, output = tmp_path / "tiny.yaml", tmp_path / "out"
    path.write_text(TEXT)
    command = [sys.executable, "-m", "harness", "lab", str(path), "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=800, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lab = load(output / "lab.json")
    assert [run.variant for run in lab.runs] == ["static"] * 2 + ["continuous"] * 2 + ["recomputed"] * 2
    assert {run.error_rate for run in lab.runs} == {0.0}
    assert all(effect.predicted for effect in lab.effects)
    assert (output / "lab.html").is_file()
