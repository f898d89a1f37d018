"""Settings that say nothing, and places that can't be written to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.pytest_plugin.conftest import FakeSpine

pytest_plugins = ["pytester"]

SOURCE = "def test_it(load): load(requests=1, prompts='Hi')"


@pytest.mark.parametrize("name", ["endpoint", "serve", "model", "baseline", "results", "scale", "report"])
def test_an_empty_option_is_a_usage_error(project: pytest.Pytester, spine: FakeSpine, name: str) -> None:
    project.makepyfile(SOURCE)
    for value in ("", " "):
        result = project.runpytest_inprocess(f"--sla-{name}", value)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*--sla-{name}: it is empty (a variable that isn't set?); give *"])
    assert not spine.calls


def test_an_empty_variable_counts_as_none_but_the_summary_says_what_was_skipped(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CI systems set variables that nobody defined to nothing."""
    monkeypatch.setenv("SLA_ENDPOINT", "")
    project.makepyfile(f"{SOURCE}\ndef test_other(load): pass\ndef test_plain(): pass")
    result = project.runpytest_inprocess()
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(
        ["*= SLA =*", "2 tests were skipped: no server to test: give --sla-endpoint*"]
    )


@pytest.mark.parametrize("path", ["x.txt", "x", "x.md.bak"])
def test_a_report_of_another_kind_is_a_usage_error(project: pytest.Pytester, path: str) -> None:
    project.makepyfile(SOURCE)
    result = project.runpytest_inprocess(f"--sla-report={path}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--sla-report: '{path}' is not a file that ends in .md or .json"])


def test_a_folder_that_can_t_be_made_names_the_option(project: pytest.Pytester, spine: FakeSpine) -> None:
    (project.path / "taken").write_text("a file")
    project.makepyfile(SOURCE)
    result = project.runpytest_inprocess("--sla-results=taken/deeper", "--tb=long")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*can't be made (Not a directory); give another folder with --sla-results"])
    for foreign in ("harness/", "During handling", "--output"):
        assert foreign not in result.stdout.str()
    assert not spine.calls


def test_a_server_that_does_not_start_is_told_once(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLA_ENDPOINT")
    project.makepyfile(SOURCE)
    result = project.runpytest_inprocess("-rN", "--sla-serve=timetable --nosuchoption")
    result.assert_outcomes(errors=1)
    text = result.stdout.str()
    assert text.count("did not start:") == 1
    assert "During handling" not in text
