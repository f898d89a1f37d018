"""What becomes of a test when an objective can't be decided."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

MARKER = """
    import pytest
    @pytest.mark.sla(ttft_p99="101ms")
    def test_it(load):
        load(requests=20, prompts="Hi")
"""
ASSERT = """
    def test_it(load):
        assert load(requests=20, prompts="Hi").ttft.p(99) <= "101ms"
"""
CHECK = """
    def test_it(load):
        load(requests=20, prompts="Hi").check(ttft_p99="101ms")
"""
FORMS = pytest.mark.parametrize("source", [MARKER, ASSERT, CHECK], ids=["marker", "assert", "check"])


@FORMS
def test_it_fails_by_default(project: pytest.Pytester, source: str) -> None:
    project.makepyfile(source)
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*SLA undecided*"])


@FORMS
def test_it_warns_where_that_is_asked_for(project: pytest.Pytester, source: str) -> None:
    """The warning names the line of the test."""
    project.makepyfile(source)
    result = project.runpytest_inprocess("--sla-inconclusive=warn", "-W", "always")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["  *test_it_warns_where_that_is_asked_for.py:*UndecidedWarning: *ttft p99*"])


@FORMS
def test_it_skips_where_that_is_asked_for(
    project: pytest.Pytester, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLA_INCONCLUSIVE", "skip")
    project.makepyfile(source)
    result = project.runpytest_inprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED [[]1[]] test_it_skips_where_that_is_asked_for.py:*ttft p99*"])


def test_what_is_missed_fails_all_the_same(project: pytest.Pytester) -> None:
    project.makepyfile(MARKER.replace("101ms", "101ms', ttft_p50='1ms").replace("'", '"'))
    for choice in ("warn", "skip"):
        project.runpytest_inprocess(f"--sla-inconclusive={choice}").assert_outcomes(failed=1)


def test_a_wrong_choice_is_a_usage_error(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLA_INCONCLUSIVE", "never")
    result = project.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*SLA_INCONCLUSIVE: 'never' is none of fail, warn, skip"])
