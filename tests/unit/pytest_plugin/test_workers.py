"""Several processes for the load of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.unit.pytest_plugin.conftest import FakeSpine

pytest_plugins = ["pytester"]


def test_workers_are_asked_of_the_spine(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(
        """
        def test_one(load):
            load(prompts="Hi", requests=3)

        def test_many(load):
            load(prompts="Hi", requests=3, workers=4)

        async def test_auto(load):
            await load(prompts="Hi", requests=3, workers="auto")
        """
    )
    project.runpytest_inprocess("-q").assert_outcomes(passed=3)
    assert [call["workers"] for call in spine.calls] == [1, 4, "auto"]
