"""The plugin in other people's sessions: light, prefixed, at peace with other plugins."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

pytest_plugins = ["pytester"]

HEAVY = {
    "numpy",
    "scipy",
    "aiohttp",
    "msgspec",
    "pydantic",
    "locust",
    "gevent",
    "hdrh",
    "asyncio",
    "yaml",
    "rich",
}


def test_B4_01_loading_it_imports_nothing_heavy() -> None:
    """Only what pytest itself doesn't load already counts."""
    program = (
        "import sys, pytest; before = set(sys.modules); import harness.pytest_plugin;"
        "print(*(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    assert not {name.partition(".")[0] for name in loaded} & HEAVY
    assert [name for name in loaded if name.startswith(("harness.", "scenarios", "reports"))] == sorted(
        ["harness.pytest", "harness.pytest.settings", "harness.pytest_plugin"],
        key=loaded.index,
    )


def test_session_without_load_stays_light(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys
        def test_it():
            assert not {"numpy", "scipy", "aiohttp", "pydantic"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-p", "no:locust", "-p", "no:hypothesispytest").assert_outcomes(passed=1)


def test_B4_06_every_name_has_the_prefix(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(): pass")
    text = project.runpytest_inprocess("--help").stdout.str()
    group = text.split("(tokenpace):")[1].split("\n\n")[0]
    names = [
        "baseline",
        "baselines",
        "endpoint",
        "inconclusive",
        "model",
        "repeat",
        "report",
        "results",
        "scale",
        "serve",
    ]
    assert set(re.findall(r"--[\w-]+", group)) == {f"--sla-{name}" for name in names}
    fixtures = project.runpytest_inprocess("--fixtures", "-q").stdout.str()
    ours = re.findall(r"^(\w+)(?: \[\w+ scope\])? -- .*harness.pytest_plugin", fixtures, re.MULTILINE)
    assert set(ours) == {"load", "load_session", "sla_config", "sla_endpoint", "sla_run"}


def test_B4_01_lives_beside_locusts_plugin_and_its_host(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    pytester.runpytest_subprocess("--help").stdout.fnmatch_lines(["*--sla-endpoint=URL*"])
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_B4_01_a_conftest_may_have_its_own_host(pytester: pytest.Pytester) -> None:
    """With locust's plugin switched off, which takes that name for itself."""
    pytester.makeconftest(
        "def pytest_addoption(parser): parser.addoption('--host'); parser.addoption('--timeout2')"
    )
    pytester.makepyfile("def test_it(): pass")
    pytester.runpytest_subprocess("-p", "no:locust", "--host=x").assert_outcomes(passed=1)


def test_one_worker_carries_the_summary(project: pytest.Pytester) -> None:
    """Rows travel with the report from the worker to the terminal."""
    project.makeconftest(
        """
        import pytest
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            if call.when == "call":
                cells = ["ttft p50 < 1s", "1 ms", "", "", "", "9", "PASS"]
                row = {"test": item.nodeid, "cells": cells, "objective": cells[0], "result": "x"}
                report.sla_rows = [row | {"observed": 1, "verdict": "PASS", "report": None}]
            return report
        """
    )
    project.makepyfile("def test_it(): pass")
    result = project.runpytest_subprocess("-p", "xdist", "-n", "1")
    result.stdout.fnmatch_lines(["*= SLA =*", "*::test_it", "ttft p50 < 1s*PASS"])
