"""The fixture ``load_session``: one run for many tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.pytest_plugin.conftest import FakeSpine

pytest_plugins = ["pytester"]

CONFTEST = """
    import pytest
    @pytest.fixture(scope="{scope}")
    def shared(load_session):
        return load_session(requests=60, prompts="Hi")
"""
TESTS = """
    import pytest
    @pytest.mark.sla(ttft_p50="500ms")
    def test_one(shared):
        assert len(shared.requests) == 60
    @pytest.mark.sla(ttft_p50="50ms")
    def test_two(shared):
        pass
    def test_three(shared):
        shared.check(tpot_p50="20ms")
"""


@pytest.mark.parametrize("scope", ["function", "module", "session"])
def test_it_is_sent_once_and_each_marker_judges_it(
    project: pytest.Pytester, spine: FakeSpine, scope: str
) -> None:
    project.makeconftest(CONFTEST.format(scope=scope))
    project.makepyfile(TESTS)
    result = project.runpytest_inprocess("-W", "error")
    result.assert_outcomes(passed=2, failed=1)
    assert len(spine.calls) == 1
    result.stdout.fnmatch_lines(["SLA missed: ttft p50 <= 50ms"])
    result.stdout.fnmatch_lines(
        ["*= SLA =*", "*::test_one", "ttft p50 <= 500ms*PASS", "*::test_two", "ttft p50 <= 50ms*FAIL"]
        if scope != "session"
        else ["*= SLA =*", "*::test_*"]
    )
    assert result.stdout.str().count("tpot p50 <= 20ms") == 1


def test_other_arguments_are_another_load(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(
        """
        def test_it(load_session):
            one, two = (load_session(requests=n, prompts="Hi") for n in (3, 4))
            again = load_session(requests=3, prompts="Hi")
            assert one is again and one is not two
        """
    )
    project.runpytest_inprocess().assert_outcomes(passed=1)
    assert len({call["result_dir"] for call in spine.calls}) == 2


def test_a_coroutine_awaits_it(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(
        """
        import asyncio, pytest_asyncio
        @pytest_asyncio.fixture(scope="module", loop_scope="module")
        async def shared(load_session):
            return await load_session(requests=3, prompts="Hi")
        async def test_it(shared, load_session):
            one, two = await asyncio.gather(*(load_session(requests=4, prompts="Hi") for _ in range(2)))
            assert len(shared.requests) == 3 and one is two
        def test_sync(shared):
            assert len(shared.requests) == 3
        """
    )
    project.runpytest_inprocess("-W", "error").assert_outcomes(passed=2)
    assert len(spine.calls) == 2


def test_usual_keys_are_those_of_sla_config(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makeconftest(
        """
        import pytest
        @pytest.fixture(scope="session")
        def sla_config():
            return {"max_tokens": 7, "prompts": "Hi", "requests": 3}
        """
    )
    project.makepyfile("def test_it(load, load_session): load(); load_session(max_tokens=8)")
    project.runpytest_inprocess().assert_outcomes(passed=1)
    assert [call["scenario"].sampling.max_tokens.mean for call in spine.calls] == [7, 8]
