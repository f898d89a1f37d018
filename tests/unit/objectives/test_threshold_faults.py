"""A mistake in thresholds is told as any other of a scenario: file, line and key, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.objectives import faults_in
from scenarios import library
from scenarios.errors import ScenarioError
from scenarios.scenario import load_scenario

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """\
name: mine
endpoint: chats
load: {arrivals: poisson, rate: 4, duration: 30s}
prompts: {source: text, text: Hi}
thresholds:
  ttft:
    - p95 < 5s
    - p95 < 5
  tftt: ["p95 < 5s", "p99 < 5s"]
  tpot: ["p95 <= baseline + 10 metres"]
  e2e: p95 << 3s
"""


def _faults(path: Path, overrides: dict[str, str]) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path, overrides, faults_in)
    return str(caught.value).replace(f"{path}:", "").splitlines()


def test_each_has_its_line_and_key_beside_all_other_faults(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(SCENARIO)
    starts = [
        "2: endpoint: 'chats' is unknown",
        "8: thresholds.ttft[1]: 5 has no unit",
        "9: thresholds.tftt: 'tftt' is no metric; did you mean 'ttft'?",
        "10: thresholds.tpot[0]: 'p95 <= baseline + 10 metres' is no condition",
        "11: thresholds.e2e: '<<' can't be judged",
    ]
    faults = _faults(path, {})
    assert [fault[: len(start)] for fault, start in zip(faults, starts, strict=True)] == starts


def test_one_that_was_set_from_outside_is_no_line_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(SCENARIO.replace("chats", "chat"))
    (fault,) = _faults(path, {"thresholds": "{ttft: ['p95 < 5']}"})
    assert fault.startswith("--set: thresholds.ttft[0]: 5 has no unit")


@pytest.mark.parametrize("name", library.names())
def test_the_library_has_none(name: str) -> None:
    load_scenario(name, objections=faults_in)
