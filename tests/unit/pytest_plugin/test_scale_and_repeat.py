"""Loads of another length, and tests that run several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.pytest_plugin.conftest import FakeSpine

pytest_plugins = ["pytester"]

SOURCE = """
    import pytest
    @pytest.mark.sla(ttft_p50="5s")
    def test_it(load):
        load(requests=100, prompts="Hi")
    def test_without_load():
        pass
"""


def test_a_load_is_as_long_as_asked(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(SOURCE)
    result = project.runpytest_inprocess("--sla-scale=0.4")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["every load 0.4 times as long as its test says (--sla-scale)"])
    assert [call["scenario"].load.requests for call in spine.calls] == [40]


def test_a_test_that_sends_load_runs_so_many_times(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(SOURCE)
    result = project.runpytest_inprocess("--sla-repeat=3", "-v")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines([f"*test_it[[]run {number}[]] PASSED*" for number in (1, 2, 3)])
    result.stdout.no_fnmatch_line("*test_without_load[[]*")
    assert len({call["result_dir"] for call in spine.calls}) == 3


def test_beside_the_parameters_of_the_test(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(
        """
        import pytest
        @pytest.mark.parametrize("rate", [1, 2])
        def test_it(load, rate, sla_run):
            load(requests=10 * sla_run, rate=rate, prompts="Hi")
        """
    )
    project.runpytest_inprocess("--sla-repeat=2").assert_outcomes(passed=4)
    assert sorted((call["scenario"].load.rate, call["scenario"].load.requests) for call in spine.calls) == [
        (1, 10),
        (1, 20),
        (2, 10),
        (2, 20),
    ]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--sla-scale=0", "'0' is not a number above 0"),
        ("--sla-scale=much", "'much' is not a number above 0"),
        ("--sla-scale=inf", "'inf' is not a number above 0"),
        ("--sla-scale=1e9", "'1e9' is not a number above 0 and below 1,000,000,000"),
        ("--sla-repeat=0", "'0' is not a whole number"),
        ("--sla-repeat=2.5", "'2.5' is not a whole number"),
    ],
)
def test_a_wrong_value_is_a_usage_error(project: pytest.Pytester, option: str, words: str) -> None:
    project.makepyfile(SOURCE)
    result = project.runpytest_inprocess(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{option.partition('=')[0]}: {words}*"])
