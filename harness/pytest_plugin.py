"""The pytest plugin: the marker ``sla``. Nothing heavy is imported when pytest loads it."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "sla(**objectives): objectives that the test's load must meet")
