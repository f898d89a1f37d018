"""What an undecided objective does to a test: ``--sla-inconclusive=fail``, ``warn`` or ``skip``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

from harness.pytest.settings import value_of

if TYPE_CHECKING:
    from typing import Self

__tracebackhide__ = True


class UndecidedWarning(pytest.PytestWarning):
    """An objective could not be decided, and the test went on as if it were met."""


class Undecided:
    """Says of each undecided objective whether the test may go on.

    Args:
        choice: ``fail`` lets none go on, ``warn`` all with a warning, ``skip`` ends the test as skipped.
    """

    def __init__(self, choice: str) -> None:
        self.choice = choice

    @classmethod
    def of(cls, config: pytest.Config) -> Self:
        """As the session's settings say."""
        return cls(value_of(config, "inconclusive") or "fail")

    def forgives(self, text: str, stacklevel: int = 3) -> bool:
        """Whether the test goes on.

        Args:
            text: What could not be decided.
            stacklevel: As of ``warnings.warn``: whose line a warning names.

        Raises:
            pytest.skip.Exception: It ends as skipped.
        """
        if self.choice == "skip":
            pytest.skip(text)
        if self.choice == "warn":
            warnings.warn(text, UndecidedWarning, stacklevel=stacklevel)
        return self.choice == "warn"
