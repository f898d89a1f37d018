"""pytest-xdist: the server sees each load once, and nothing runs beside it."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.timetable_process import TimetableProcess

    from tests.e2e.pytest_plugin.conftest import Project

CONFTEST = """
    import json, os, pathlib, time
    import pytest

    @pytest.fixture(scope="session")
    def shared(load_session):
        return load_session(requests=7, concurrency=1, prompts="Hi", samples=3)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(item):
        begin = time.monotonic()
        try:
            return (yield)
        finally:
            loads = bool({"load", "load_session"} & set(item.fixturenames))
            line = {"loads": loads, "begin": begin, "end": time.monotonic(), "process": os.getpid()}
            path = pathlib.Path(__file__).with_name(f"times-{os.getpid()}.jsonl")
            with path.open("a") as file:
                file.write(json.dumps(line) + "\\n")
"""
TESTS = """
    import time
    import pytest

    @pytest.mark.parametrize("n", range(6))
    def test_plain(n):
        time.sleep(0.1)

    @pytest.mark.sla(error_rate="<50%")
    @pytest.mark.parametrize("n", range(3))
    def test_own(load, n):
        assert len(load(requests=10, concurrency=1, prompts="Hi").requests) == 10

    @pytest.mark.sla(output_tokens_p50=">=1")
    @pytest.mark.parametrize("n", range(4))
    def test_shared(shared, n):
        assert len(shared.requests) == 7
        assert shared.requests[0].text
"""


def test_B4_03_the_server_sees_each_load_once(project: Project, timetable: TimetableProcess) -> None:
    project.write("conftest.py", CONFTEST)
    project.write("test_it.py", TESTS)
    before = len(timetable.log(0))
    done = project.pytest("-n", "2", "-W", "error", "-q")
    assert done.code == 0, done.output
    done.has("13 passed", "= SLA =")
    assert done.output.count("output_tokens p50 >= 1") == 4
    assert len(timetable.log(0)) - before == 3 * 10 + 7
    lines = [line for path in project.path.glob("times-*") for line in path.read_text().splitlines()]
    times = [json.loads(line) for line in lines]
    assert len(times) == 13
    assert len({each["process"] for each in times}) == 2
    for one, other in itertools.combinations(times, 2):
        if one["loads"] or other["loads"]:
            assert one["end"] <= other["begin"] or other["end"] <= one["begin"], (one, other)


def test_dist_each_would_multiply_and_is_refused(project: Project, timetable: TimetableProcess) -> None:
    project.write("test_it.py", "def test_it(load): load(requests=1, prompts='Hi')")
    before = len(timetable.log(0))
    done = project.pytest("-n", "2", "--dist=each")
    assert done.code == 1
    done.has("--dist=each runs every test in each of 2 pytest-xdist workers", "pytest -m sla -n 0")
    assert len(timetable.log(0)) == before
