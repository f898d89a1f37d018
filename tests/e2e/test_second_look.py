"""A run judged again with more objectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from harness import event_loop
from harness.run import report, run
from harness.sla.errors import RuleError
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from pathlib import Path

    from support.timetable_process import TimetableProcess

STATED = {"output_tokens": ["p50 >= 2"]}
MORE = {"ttft": ["p90 < 5s"], "error_rate": ["< 5%"], "goodput": ["> 0.1/s"], "output_tokens": ["max <= 6"]}


def test_it_is_as_if_they_had_been_stated_before(timetable: TimetableProcess, tmp_path: Path) -> None:
    data = {
        "name": "again",
        "load": {"arrivals": "closed", "concurrency": 2, "requests": 120, "warmup_requests": 20},
        "prompts": {"source": "text", "text": "Hi"},
        "sampling": {"max_tokens": 5},
        "thresholds": STATED,
    }
    asked = run(scenario_from(data), base_url=timetable.url, result_dir=tmp_path / "run", reports=())
    done = event_loop.run(asked)
    before = sorted(path.name for path in (tmp_path / "run").iterdir())
    found = done.judged_with(MORE)
    assert done.judged_with({}).rules == done.result.rules
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == before
    with pytest.raises(RuleError, match="tftt"):
        done.judged_with({"tftt": ["p90 < 5s"]})
    with pytest.raises(RuleError, match="a closed loop has no due times"):
        done.judged_with({"schedule_lag": ["p95 < 1s"]})
    with pytest.raises(RuleError, match="give token_deadlines"):
        done.judged_with({"token_deadline_attainment": ["p5 >= 90%"]})

    manifest = done.folder.manifest()
    together = {**STATED, **MORE, "output_tokens": [*STATED["output_tokens"], *MORE["output_tokens"]]}
    done.folder.save(structs.replace(manifest, scenario={**manifest.scenario, "thresholds": together}))
    stated = report(done.folder, reports=()).result
    assert {rule.rule: rule for rule in found.rules} == {rule.rule: rule for rule in stated.rules}
    assert len(found.rules) == 5
    assert (found.verdict, found.rates) == (stated.verdict, stated.rates)
