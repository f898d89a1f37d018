"""What of a test's runs is told: rows of the summary, links, the lines of an assertion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.pytest.measured import Measured
from harness.pytest.table import near, page_of, row
from harness.pytest.used_runs import own_runs, shared_runs

if TYPE_CHECKING:
    import pytest

    from harness.pytest.run import Run
    from harness.pytest.table import Judged


def note(item: pytest.Item) -> list[dict[str, Any]]:
    """Rows for the summary, plain enough to travel between processes."""
    rows = []
    shared = shared_runs(item)
    for run in (*own_runs(item), *shared):
        rows += [_row(item, judged, run) for judged in run.judged]
    for run in shared:
        run.forget()
    return rows


def _row(item: pytest.Item, judged: Judged, run: Run) -> dict[str, Any]:
    """Built-in types alone: pytest-xdist carries nothing else."""
    result, page = judged.result, page_of(run.folder)
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
        "report": None if page is None else str(near(page)),
    }


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


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
    return left.compared(operator, right).lines
