"""What of a test's runs is told: rows of the summary, JUnit properties, the lines of an assertion."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from harness.pytest.measured import Measured
from harness.pytest.table import row
from reports.result import Verdict
from reports.units import against, margin

if TYPE_CHECKING:
    import pytest

    from harness.pytest.loading import Load
    from reports.result import RuleResult

_SAID: Final = {
    Verdict.FAIL: "SLA missed",
    Verdict.INCONCLUSIVE: "SLA undecided",
    Verdict.INVALID: "SLA invalid",
    Verdict.PASS: "SLA met",
}


def note(item: pytest.Item, load: Load) -> list[dict[str, Any]]:
    """Rows for the summary, plain enough to travel between processes; JUnit properties go to the item."""
    rows = []
    for run in load.runs:
        rows += [{"test": item.nodeid, "cells": list(row(result))} for result in run.judged]
        for result in run.judged:
            _add_property(item, result)
        item.user_properties.append(("sla.result", str(run.folder)))
        if run.verdict is not None:
            item.user_properties.append(("sla.verdict", run.verdict.value))
    return rows


def _add_property(item: pytest.Item, result: RuleResult) -> None:
    name = "sla." + result.rule.replace(" ", ".", 1) if result.observed is None else _property_name(result)
    item.user_properties.append((name, "" if result.observed is None else result.observed))


def _property_name(result: RuleResult) -> str:
    """``sla.ttft.p99`` of ``ttft p99 < 500ms``."""
    named = itertools.takewhile(lambda word: word[0] not in "<>", result.rule.split())
    return "sla." + ".".join(named)


def assertion_lines(operator: str, left: object, right: object) -> list[str] | None:
    """What pytest prints of ``assert run.ttft.p(99) <= "500ms"``; None for a comparison of something else."""
    if not isinstance(left, Measured) or operator not in ("<", "<=", ">", ">="):
        return None
    result = left.compared(operator, right).result
    observed, limit = against(result.observed, result.limit, result.unit)
    room = margin(result.observed, result.limit, result.unit, upper=operator in ("<", "<="))
    return [
        f"{result.rule}: {_SAID[result.verdict]}",
        f"measured {observed}  limit {limit}  margin {room}  n={result.n}",
        result.message,
    ]
