"""The marker ``sla_baseline``: what it hands on, and what it refuses before any load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.comparison.baselines import Baselines
from harness.comparison.identity import Identity
from harness.comparison.past_run import PastRun
from harness.comparison.sample import Sample, Slices
from harness.comparison.side import Side

if TYPE_CHECKING:
    from tests.unit.pytest_plugin.conftest import FakeSpine

pytest_plugins = ["pytester"]


@pytest.fixture
def kept(project: pytest.Pytester) -> pytest.Pytester:
    """The project with a baseline ``main``."""
    identity = Identity(name="x", started_at="", keys={}, faults=(), num_requests=1, duration_s=1.0)
    sample = Sample(
        per_cell=1,
        num_requests=1,
        series={},
        shares={"error_rate": ([0], [1])},
        slices=Slices(0.0, 0, {}),
        rates={},
        reasons={},
        client_errors={},
    )
    side = Side("main", (PastRun(identity=identity, sample=sample),))
    Baselines(project.path / ".tokenpace/baselines").save("main", side)
    return project


def _test(marker: str) -> str:
    return f"""
        import pytest
        @pytest.mark.sla_baseline({marker})
        def test_it(load):
            load(requests=60, prompts='Hi')
    """


def test_baseline_and_objectives_go_to_the_run(kept: pytest.Pytester, spine: FakeSpine) -> None:
    kept.makepyfile(_test("'main', ttft_p95='10%', error_rate='1 point'"))
    kept.runpytest_inprocess().assert_outcomes(passed=1)
    (call,) = spine.calls
    assert call["baseline"].label == "main"
    assert dict(call["scenario"].thresholds) == {
        "ttft": ("p95 <= baseline + 10 %",),
        "error_rate": ("<= baseline + 1 point",),
    }


def test_the_option_names_it_for_all_tests(kept: pytest.Pytester, spine: FakeSpine) -> None:
    kept.makepyfile("def test_it(load):\n    load(requests=1, prompts='Hi')")
    kept.runpytest_inprocess("--sla-baseline=main").assert_outcomes(passed=1)
    kept.runpytest_inprocess().assert_outcomes(passed=1)
    assert [call["baseline"] and call["baseline"].label for call in spine.calls] == ["main", None]


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("ttft_p95='10%'", "no baseline is named"),
        ("'mian', ttft_p95='10%'", "mian: neither a result folder nor a baseline*baselines: main"),
        ("'main', ttft_p95='500ms'", "write how much worse it may be"),
        ("'main', tftt_p95='10%'", "did you mean 'ttft'"),
        ("'main', 'other'", "give one name"),
        ("'.tokenpace/baselines/main'", "give its name, 'main', *--sla-baselines=.tokenpace/baselines"),
        ("'.'", ". is no result folder*"),
    ],
)
def test_what_can_t_be_is_refused_before_any_load(
    kept: pytest.Pytester, spine: FakeSpine, marker: str, message: str
) -> None:
    kept.makepyfile(_test(marker))
    result = kept.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*::test_it: sla_baseline: *{message}*"])
    assert not spine.calls


@pytest.mark.parametrize("fixture", ["load", "load_session"])
def test_an_option_that_names_none_is_told_plainly(
    kept: pytest.Pytester, spine: FakeSpine, fixture: str
) -> None:
    kept.makepyfile(f"def test_it({fixture}):\n    {fixture}(requests=1, prompts='Hi')")
    result = kept.runpytest_inprocess("--sla-baseline=.tokenpace/baselines/main")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["sla_baseline: .tokenpace/baselines/main is the folder of a baseline*"])
    assert "harness/" not in result.stdout.str()
    assert not spine.calls


def test_a_marker_without_load_is_told(kept: pytest.Pytester) -> None:
    kept.makepyfile("import pytest\n@pytest.mark.sla_baseline('main')\ndef test_it():\n    pass")
    kept.runpytest_inprocess().assert_outcomes(failed=1)
