"""The marker ``sla``: its rules, and its judgement after the test's body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.sla.errors import RuleError
from harness.sla.keywords import rules_of_keywords

if TYPE_CHECKING:
    import pytest

    from harness.pytest.loading import Load
    from harness.sla.rule import Rule


def rules_of(item: pytest.Item) -> tuple[Rule, ...]:
    """The rules of all ``sla`` markers of a test; of two on the same number the nearer one holds.

    Raises:
        RuleError: One of them is no objective.
    """
    keywords: dict[str, object] = {}
    for mark in reversed(list(item.iter_markers("sla"))):
        if mark.args:
            raise RuleError(f"sla{mark.args!r}: objectives are keywords, such as sla(ttft_p99='500ms')")
        keywords |= mark.kwargs
    return rules_of_keywords(keywords)


def fault(item: pytest.Item) -> str | None:
    """What is wrong with the markers themselves; None for nothing."""
    try:
        rules_of(item)
    except RuleError as error:
        return f"sla marker: {error}"
    return None


def complaint(load: Load | None) -> str | None:
    """What the marker has to say after the body; None for nothing."""
    if load is None or not load.runs:
        return (
            "the test has an sla marker but made no load: call the fixture load "
            "(in an async test: await load(...)), or take the marker out"
        )
    failures = [text for run in load.runs if (text := run.failure()) is not None]
    return "\n\n".join(failures) or None
