"""Classes of errors as objectives in the marker and in the body of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.pytest_plugin.conftest import FakeSpine

pytest_plugins = ["pytester"]


def _test(line: str, marker: str = "") -> str:
    head = f"import pytest\n{marker}\ndef test_it(load):\n    run = load(requests=60, prompts='Hi')\n"
    return f"{head}    {line}\n"


def test_in_the_body(project: pytest.Pytester, spine: FakeSpine) -> None:
    spine.failing = 6
    project.makepyfile(
        _test(
            "assert run.errors.of('timeout').rate <= '10%' and run.errors.of('timeout').count == 0\n"
            "    assert run.errors.of('reset').count == 6 and run.error_rate_reset <= '40%'\n"
            "    assert float(run.errors.of('reset').rate) == 0.1\n"
            "    run.check(error_rate_timeout='10%')\n"
            "    assert repr(run.errors.of('reset')) == '<6 errors: reset>'"
        )
    )
    project.runpytest_inprocess("-W", "error").assert_outcomes(passed=1)


def test_a_missed_one_names_its_class(project: pytest.Pytester, spine: FakeSpine) -> None:
    spine.failing = 30
    project.makepyfile(_test("assert run.errors.of('reset').rate < '10%'"))
    result = project.runpytest_inprocess("--junitxml=out.xml")
    result.stdout.fnmatch_lines(["E*assert error_rate_reset < 10%: SLA missed", "E*30 of 60*"])
    assert 'test_it.error_rate_reset.verdict" value="FAIL"' in (project.path / "out.xml").read_text()


def test_an_unknown_class_is_told_with_the_list(project: pytest.Pytester) -> None:
    project.makepyfile(_test("run.errors.of('timout')"))
    result = project.runpytest_inprocess()
    result.stdout.fnmatch_lines(["E*RuleError: 'timout' is no class of errors; known: truncated, *"])


def test_in_the_marker(project: pytest.Pytester, spine: FakeSpine) -> None:
    spine.failing = 30
    marker = "@pytest.mark.sla(error_rate_reset='10%', error_rate_timeout='10%')"
    project.makepyfile(_test("del run", marker))
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*error_rate_reset <= 10%*"])


def test_an_unknown_class_in_the_marker_sends_no_load(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(_test("del run", "@pytest.mark.sla(error_rate_timout='10%')"))
    result = project.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*'timout' is no class of errors; known: truncated, *"])
    assert not spine.calls
