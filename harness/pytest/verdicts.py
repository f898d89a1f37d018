"""How a test ends by the verdict of its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.pytest.marker import complaint
from harness.pytest.undecided import Undecided, UndecidedWarning
from reports.result import Verdict

if TYPE_CHECKING:
    from harness.pytest.table import Complaint


def demand(item: pytest.Item) -> None:
    """End the test as its markers' objectives ask for.

    Raises:
        pytest.fail.Exception: One is missed or can't be trusted, or is undecided and that is to fail.
        pytest.skip.Exception: One is undecided, and that is to skip.
    """
    found = complaint(item)
    if found is None:
        return
    if found.verdict is Verdict.INCONCLUSIVE:
        _undecided(item, found)
    else:
        pytest.fail(found.text, pytrace=False)


def _undecided(item: pytest.Item, found: Complaint) -> None:
    choice = Undecided.of(item.config).choice
    if choice == "warn":
        item.warn(UndecidedWarning(found.text))
    elif choice == "skip":
        pytest.skip(found.text)
    else:
        pytest.fail(found.text, pytrace=False)
