"""Objectives that a run has no values for are refused with the remedy, before the load where that can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.pytest_plugin.conftest import FakeSpine

pytest_plugins = ["pytester"]

SHARED = """
    import pytest
    @pytest.fixture(scope="session")
    def shared(load_session):
        return load_session(concurrency=2, requests=60, prompts="Hi")
"""
FAULTS = pytest.mark.parametrize(
    ("marker", "body", "said"),
    [
        (
            "token_deadline_attainment_p5='90%'",
            "run.token_deadline_attainment.p(5) >= '90%'",
            "*give token_deadlines: {ttft*",
        ),
        ("schedule_lag_p95='90ms'", "run.schedule_lag.p(95) <= '1s'", "*a closed loop has no due times*"),
        ("goodput='1/s'", "run.goodput >= '1/s'", "*no objective says what a good request is*"),
    ],
    ids=["deadlines", "closed", "goodput"],
)


@FAULTS
def test_a_marker_is_refused_before_the_shared_load(
    project: pytest.Pytester, spine: FakeSpine, marker: str, body: str, said: str
) -> None:
    del body
    project.makepyfile(SHARED + f"\n    @pytest.mark.sla({marker})\n    def test_it(shared): pass\n")
    result = project.runpytest_inprocess("--tb=long")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"E*RuleError: sla marker: '{said}"])
    assert "harness/" not in result.stdout.str()
    assert not spine.calls


@FAULTS
def test_a_marker_on_a_load_that_was_sent_for_another_is_told_plainly(
    project: pytest.Pytester, spine: FakeSpine, marker: str, body: str, said: str
) -> None:
    del body
    project.makepyfile(
        SHARED
        + f"""
    @pytest.mark.sla(tpot_p50="1s")
    def test_before(shared): pass
    @pytest.mark.sla({marker})
    def test_it(shared): pass
    """
    )
    result = project.runpytest_inprocess("--tb=long")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([f"sla marker: '{said}"])
    assert "harness/" not in result.stdout.str()
    assert len(spine.calls) == 1


@FAULTS
def test_a_comparison_is_refused_at_its_line(
    project: pytest.Pytester, marker: str, body: str, said: str
) -> None:
    name, _, limit = marker.partition("=")
    project.makepyfile(
        f"""
        def test_compared(load):
            run = load(concurrency=2, requests=60, prompts="Hi")
            assert {body}
        def test_checked(load):
            run = load(concurrency=2, requests=60, prompts="Hi")
            run.check({name}={limit})
        """
    )
    result = project.runpytest_inprocess("--tb=long")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines([f"E*RuleError: '{said}"] * 2)
    for foreign in ("harness/", "During handling", "KeyError"):
        assert foreign not in result.stdout.str()


def test_a_shared_load_that_can_answer_is_sent(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(
        SHARED + "\n    @pytest.mark.sla(goodput='1/s', ttft_p50='1s')\n    def test_it(shared): pass\n"
    )
    project.runpytest_inprocess().stdout.fnmatch_lines(["*ttft p50 <= 1s*PASS"])
    assert len(spine.calls) == 1
