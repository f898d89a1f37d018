"""Pages of real and made-up servers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

PAGES = Path(__file__).parents[2] / "data" / "telemetry"


@pytest.fixture(scope="session")
def page() -> Callable[[str], str]:
    """The page of a server of that dialect."""
    return lambda name: (PAGES / f"{name}.txt").read_text()
