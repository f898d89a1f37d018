"""What of a test's runs is told: rows of the summary, JUnit properties, the lines of an assertion."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from harness.pytest.measured import Measured
from harness.pytest.table import near, page_of, row
from harness.pytest.used_runs import own_runs, shared_runs
from reports.result import Verdict
from reports.units import against

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from harness.pytest.run import Run
    from harness.pytest.table import Judged
    from reports.result import RuleResult

_SAID: Final = {
    Verdict.FAIL: "SLA missed",
    Verdict.INCONCLUSIVE: "SLA undecided",
    Verdict.INVALID: "SLA invalid",
    Verdict.PASS: "SLA met",
}


def note(item: pytest.Item) -> list[dict[str, Any]]:
    """Rows for the summary, plain enough to travel between processes; JUnit properties go to the item."""
    rows = []
    shared = shared_runs(item)
    for run in (*own_runs(item), *shared):
        rows += [_row(item, judged, run) for judged in run.judged]
        item.user_properties += _properties(run)
    for run in shared:
        run.forget()
    return rows


def _row(item: pytest.Item, judged: Judged, run: Run) -> dict[str, Any]:
    """Built-in types alone: pytest-xdist carries nothing else."""
    result = judged.result
    return {
        "test": item.nodeid,
        "cells": list(row(judged)),
        "objective": result.rule,
        "verdict": result.verdict.value,
        "observed": _number(result.observed),
        "limit": _number(result.limit),
        "unit": str(result.unit),
        "low": _number(result.low),
        "high": _number(result.high),
        "client_error": _number(judged.client_error),
        "n": int(result.n),
        "message": result.message,
        "result": str(near(run.folder)),
    }


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _properties(run: Run) -> Iterator[tuple[str, object]]:
    """Numbers in the unit of the objective: ns, tokens, tokens/s, requests/s, shares of 1."""
    for judged in run.judged:
        result = judged.result
        name = property_name(result)
        observed = _number(result.observed)
        yield name, "" if observed is None else observed
        yield f"{name}.verdict", result.verdict.value
    if run.verdict is not None:
        yield "sla.verdict", run.verdict.value
    yield "sla.result", str(near(run.folder))
    page = page_of(run.folder)
    if page is not None:
        yield "sla.report", str(near(page))


def property_name(result: RuleResult) -> str:
    """``sla.ttft.p99`` of ``ttft p99 < 500ms``."""
    named = itertools.takewhile(lambda word: word[0] not in "<>", result.rule.split())
    return "sla." + ".".join(named)


def html_links(item: pytest.Item) -> list[dict[str, Any]]:
    """Links to the pages of a test's runs, as pytest-html takes them."""
    pages = (page_of(run.folder) for run in (*own_runs(item), *shared_runs(item)))
    return [
        {
            "name": "SLA report",
            "format_type": "url",
            "content": page.as_uri(),
            "mime_type": None,
            "extension": None,
        }
        for page in pages
        if page is not None
    ]


def assertion_lines(operator: str, left: object, right: object) -> list[str] | None:
    """What pytest prints of ``assert run.ttft.p(99) <= "500ms"``; None for a comparison of something else."""
    if not isinstance(left, Measured) or operator not in ("<", "<=", ">", ">="):
        return None
    check = left.compared(operator, right)
    result, judged = check.result, check.judged
    observed, limit = against(result.observed, result.limit, result.unit)
    return [
        f"{result.rule}: {_SAID[result.verdict]}",
        f"measured {observed}  limit {limit}  margin {judged.margin}  n={result.n:,}",
        f"interval {judged.interval}  client error {judged.error}",
        result.message,
        *check.places,
    ]
