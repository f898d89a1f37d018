"""What a demanding user would try next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.pytest_plugin.conftest import FakeSpine

pytest_plugins = ["pytester"]


def test_async_tests_need_no_plugin_of_their_own(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does its absence, or an option that it wants set, give any notice."""
    monkeypatch.setenv("PYTEST_PLUGINS", "harness.pytest_plugin")
    project.makeini("[pytest]")
    project.makepyfile(
        """
        import pytest
        @pytest.mark.sla(ttft_p50="500ms")
        @pytest.mark.parametrize("n", [3, 4])
        async def test_it(load, n, tmp_path):
            assert len((await load(requests=60, prompts="Hi")).requests) == 60
        async def test_fails(load):
            run = await load(requests=60, prompts="Hi")
            assert run.ttft.p(50) <= "1ms"
        """
    )
    result = project.runpytest_inprocess("-W", "error")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["E*ttft p50 <= 1ms: SLA missed"])
    assert "asyncio" not in result.stdout.str()
    assert "harness/" not in result.stdout.str()


def test_parametrized_tests_make_loads(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(
        """
        import pytest
        @pytest.mark.parametrize("text", ["a b", "../c"])
        def test_it(load, text):
            load(requests=3, prompts=text)
        """
    )
    project.runpytest_inprocess().assert_outcomes(passed=2)
    assert len({call["result_dir"] for call in spine.calls}) == 2


def test_comparisons_know_how_samples_hang_together(project: pytest.Pytester, spine: FakeSpine) -> None:
    """All that fail do so in a row: 60 requests say as much as a few."""
    spine.in_a_row = True
    spine.failing = 6
    project.makepyfile("def test_it(load): assert load(requests=60, prompts='Hi').errors.rate <= 0.2")
    result = project.runpytest_inprocess()
    result.stdout.fnmatch_lines(
        ["E*error_rate <= 20%: SLA undecided", "E*60 samples worth * independent ones*"]
    )


def test_subtests_repeat_no_row(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        @pytest.mark.sla(ttft_p50="500ms")
        def test_it(load, subtests):
            run = load(requests=60, prompts="Hi")
            for p in (10, 50):
                with subtests.test("tpot", p=p):
                    assert run.tpot.p(p) <= "1ms"
        """
    )
    result = project.runpytest_inprocess()
    result.stdout.fnmatch_lines(["*= SLA =*", "SUBFAILED[[]tpot[]] (p=10)*", "SUBFAILED[[]tpot[]] (p=50)*"])
    text = result.stdout.str().split("= SLA =")[1].split("short test summary")[0]
    rules = ("ttft p50 <= 500ms", "tpot p10 <= 1ms", "tpot p50 <= 1ms")
    assert [text.count(rule) for rule in rules] == [1, 1, 1]


@pytest.mark.parametrize("name", ["sla.json", "sla.md"])
def test_the_table_is_written(project: pytest.Pytester, name: str) -> None:
    project.makepyfile(
        """
        import pytest
        @pytest.mark.sla(ttft_p50="500ms")
        def test_it(load): load(requests=60, prompts="Hi")
        """
    )
    project.runpytest_inprocess("-o", f"sla_report=out/{name}").assert_outcomes(passed=1)
    text = (project.path / "out" / name).read_text()
    if name == "sla.md":
        assert text.splitlines()[2].startswith(
            "| `test_the_table_is_written.py::test_it` | ttft p50 <= 500ms |"
        )
        return
    (row,) = json.loads(text)["objectives"]
    assert (row["objective"], row["verdict"], row["n"]) == ("ttft p50 <= 500ms", "PASS", 60)
    assert row["observed"] == pytest.approx(100e6, rel=1e-3)


def test_a_server_that_does_not_start_is_told(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLA_ENDPOINT")
    project.makepyfile("def test_it(load): pass")
    result = project.runpytest_inprocess("--sla-serve=timetable --tokens nonsense")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["the server of 'timetable --tokens nonsense' did not start:", "Error: *tokens*"]
    )


def test_a_run_without_its_baseline_says_so(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(load): load(requests=3, prompts='Hi').baseline")
    project.runpytest_inprocess().stdout.fnmatch_lines(
        ["E*RuleError: the run has no baseline; give --sla-baseline*"]
    )
