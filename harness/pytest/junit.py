"""Judged objectives as properties of a JUnit file.

They stand in ``testsuite``, each with the name of its test: schemas of viewers refuse properties of a
``testcase``.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pytest

_ADD: Final = "add_global_property"


def add(config: pytest.Config, rows: Iterable[dict[str, Any]]) -> None:
    """Add the rows of the summary to the file that pytest is about to write, if it is to write one."""
    plugins = (getattr(plugin, _ADD, None) for plugin in config.pluginmanager.get_plugins())
    adding = next((each for each in plugins if callable(each)), None)
    if adding is not None:
        for name, value in dict(_properties(rows)).items():
            adding(name, value)


def _properties(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, object]]:
    """Numbers in the unit of the objective: ns, tokens, tokens/s, requests/s, shares of 1."""
    for row in rows:
        head = f"sla.{row['test']}"
        name = f"{head}.{_number_of(row['objective'])}"
        yield name, "" if row["observed"] is None else row["observed"]
        yield f"{name}.verdict", row["verdict"]
        for place in ("result", "report"):
            if row[place] is not None:
                yield f"{head}.{place}", row[place]


def _number_of(objective: str) -> str:
    """``ttft.p99`` of ``ttft p99 < 500ms``."""
    return ".".join(itertools.takewhile(lambda word: word[0] not in "<>", objective.split()))
