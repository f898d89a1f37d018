"""The marker ``sla_baseline``: what a test's loads are held against, and how much worse they may be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.comparison.baselines import FOLDER, Baselines
from harness.comparison.errors import ComparisonError
from harness.comparison.objectives import RelativeRule, relative_rules_of_keywords
from harness.comparison.sources import side_of
from harness.errors import HarnessError
from harness.pytest.settings import value_of
from harness.sla.errors import RuleError

if TYPE_CHECKING:
    import pytest

    from harness.comparison.side import Side


def relative_rules_of(item: pytest.Item) -> tuple[RelativeRule, ...]:
    """The objectives of all ``sla_baseline`` markers; of two on the same number the nearer one holds.

    Raises:
        RuleError: One of them is no objective.
    """
    keywords: dict[str, object] = {}
    for mark in reversed(list(item.iter_markers("sla_baseline"))):
        keywords |= mark.kwargs
    return relative_rules_of_keywords(keywords)


def baseline_of(item: pytest.Item) -> Side | None:
    """The baseline that the nearest marker names, else ``--sla-baseline``; None where nobody does.

    Raises:
        HarnessError: There is no such baseline, or it can't be read.
    """
    named = (mark.args for mark in item.iter_markers("sla_baseline") if mark.args)
    args = next(named, ())
    return _side(str(args[0]), item.config) if args else usual_baseline(item.config)


def usual_baseline(config: pytest.Config) -> Side | None:
    """What ``--sla-baseline`` names; None for nothing.

    Raises:
        HarnessError: There is no such baseline, or it can't be read.
    """
    name = value_of(config, "baseline")
    return None if name is None else _side(name, config)


def _side(name: str, config: pytest.Config) -> Side:
    path = Path(name)
    if path.name in Baselines(path.parent).names():
        raise ComparisonError(
            f"{name} is the folder of a baseline; give its name, '{path.name}', and where baselines are with "
            f"--sla-baselines={path.parent}"
        )
    return side_of(name, Baselines(_folder(config)))


def usual_fault(config: pytest.Config) -> str | None:
    """What is wrong with ``--sla-baseline``; None for nothing."""
    try:
        usual_baseline(config)
    except HarnessError as error:
        return f"sla_baseline: {error}"
    return None


def fault(item: pytest.Item) -> str | None:
    """What is wrong with the markers themselves; None for nothing."""
    try:
        rules = relative_rules_of(item)
        for mark in item.iter_markers("sla_baseline"):
            if len(mark.args) > 1:
                raise RuleError(f"{mark.args!r}: give one name, and objectives as keywords: ttft_p95='10%'")
        if baseline_of(item) is None and rules:
            raise RuleError(
                "no baseline is named; write sla_baseline('NAME', ...), or give --sla-baseline=NAME"
            )
    except (RuleError, HarnessError) as error:
        return f"sla_baseline: {error}"
    return None


def _folder(config: pytest.Config) -> Path:
    given = value_of(config, "baselines")
    return config.rootpath / FOLDER if given is None else Path(given).absolute()
