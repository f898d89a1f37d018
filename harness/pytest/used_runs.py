"""The runs that a test looks at: those that it made, and shared ones that it was handed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.pytest.run import Run

if TYPE_CHECKING:
    from harness.pytest.loading import Load

LOAD: pytest.StashKey[Load] = pytest.StashKey()
"""The fixture ``load`` of a test."""
_SHARED = pytest.StashKey[list[Run]]()
_CURRENT = pytest.StashKey[pytest.Item]()


def begin(item: pytest.Item) -> None:
    """A test begins: what is asked for from now on is asked for by it."""
    item.config.stash[_CURRENT] = item


def current(config: pytest.Config) -> pytest.Item | None:
    """The test that goes on, of those that look at runs."""
    return config.stash.get(_CURRENT, None)


def note_shared(config: pytest.Config, run: Run) -> None:
    """The test that goes on asked for a shared run."""
    item = current(config)
    if item is not None:
        item.stash.setdefault(_SHARED, []).append(run)


def own_runs(item: pytest.Item) -> tuple[Run, ...]:
    """Those that it made by itself; they have the objectives of its marker."""
    made = item.stash.get(LOAD, None)
    return () if made is None else tuple(made.runs)


def shared_runs(item: pytest.Item) -> tuple[Run, ...]:
    """Those that others may look at too: it asked for them, or a fixture of its handed them on."""
    handed = (getattr(item, "funcargs", None) or {}).values()  # None once the test is over
    found = (*item.stash.get(_SHARED, ()), *(value for value in handed if isinstance(value, Run)))
    own = {id(run) for run in own_runs(item)}
    return tuple(run for run in {id(run): run for run in found}.values() if id(run) not in own)
