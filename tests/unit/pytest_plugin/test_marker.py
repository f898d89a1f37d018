"""The marker: judged after the body, all at once, before any load where it is wrong."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from support.junit_form import faults

if TYPE_CHECKING:
    from tests.unit.pytest_plugin.conftest import FakeSpine

pytest_plugins = ["pytester"]


def _test(marker: str, body: str = "load(requests=60, prompts='Hi')") -> str:
    return f"""
        import pytest
        @pytest.mark.sla({marker})
        def test_it(load):
            {body}
    """


def test_objectives_that_hold_pass(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(_test("ttft_p90='500ms', tpot_mean='50ms', error_rate='<10%', attainment='>=0.9'"))
    result = project.runpytest_inprocess()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*= SLA =*", "objective*verdict", "*::test_it", "ttft p90 <= 500ms*60*PASS"])
    assert len(spine.calls) == 1
    assert spine.calls[0]["scenario"].thresholds["ttft"] == ("p90 <= 500ms",)


def test_all_that_fail_are_told_at_once(project: pytest.Pytester) -> None:
    project.makepyfile(_test("ttft_p50='50ms', tpot_mean='5ms', e2e_p50='5s'"))
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "SLA missed: ttft p50 <= 50ms, tpot mean <= 5ms",
            "objective*measured*margin*interval*client error*n*verdict",
            "ttft p50 <= 50ms*FAIL",
            "tpot mean <= 5ms*FAIL",
            "e2e p50 <= 5s*PASS",
            "ttft p50 <= 50ms: * is above 50 ms *60 of 60 over the limit",
            "result: *",
        ]
    )
    result.stdout.no_fnmatch_line("*_pytest*")


def test_too_few_samples_fail_with_their_own_text(project: pytest.Pytester) -> None:
    project.makepyfile(_test("ttft_p99='500ms'"))
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["SLA undecided: too few samples*ttft p99 <= 500ms", "*239 more samples*"])


def test_invalid_run_fails_with_its_own_text(project: pytest.Pytester, spine: FakeSpine) -> None:
    spine.failing = 60
    project.makepyfile(_test("ttft_p50='500ms'"))
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["SLA run invalid: *ttft p50 <= 500ms", "*no request succeeded, 60 failed*"])


def test_run_that_is_invalid_as_a_whole_fails_a_bare_marker(
    project: pytest.Pytester, spine: FakeSpine
) -> None:
    spine.failing = 60
    project.makepyfile(_test(""))
    project.runpytest_inprocess().assert_outcomes(failed=1)


def test_bare_marker_judges_the_scenarios_own_thresholds(project: pytest.Pytester) -> None:
    project.makepyfile(_test("", "load(requests=60, prompts='Hi', thresholds={'ttft': ['p50 < 99ms']})"))
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["SLA missed: ttft p50 < 99ms"])


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("tttf_p99='500ms'", "tttf_p99: 'tttf' is no metric; did you mean 'ttft'?"),
        ("ttft_p99=500", "ttft_p99=500: 500 has no unit*"),
        ("'500ms'", "sla('500ms',): objectives are keywords*"),
        ("ttft_p95='baseline + 10%'", "*sla_baseline('NAME', ttft_p95='10%')*"),
    ],
)
def test_B1_01_wrong_marker_is_refused_before_any_load(
    project: pytest.Pytester, spine: FakeSpine, marker: str, said: str
) -> None:
    project.makepyfile("def test_before(load): load(requests=1, prompts='Hi')\n" + dedent(_test(marker)))
    result = project.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*.py::test_it: sla marker: {said}"])
    assert not spine.calls


def test_all_wrong_markers_are_told_at_once_but_for_deselected_ones(
    project: pytest.Pytester, spine: FakeSpine
) -> None:
    project.makepyfile(
        """
        import pytest
        @pytest.mark.sla(tttf_p99="1s")
        def test_one(load): pass
        @pytest.mark.sla(ttft_q99="1s")
        def test_two(load): pass
        @pytest.mark.sla(ttft_p95="<500ms", ttft_p90=">1s")
        def test_three(load): pass
        @pytest.mark.sla(ttft_p50="1s")
        def test_right(load): load(requests=60, prompts="Hi")
        """
    )
    result = project.runpytest_inprocess()
    result.stderr.fnmatch_lines(
        ["*::test_one: *'tttf'*", "*::test_two: *'q99'*", "*::test_three: *can't both hold*"]
    )
    assert not spine.calls
    project.runpytest_inprocess("-k", "right").assert_outcomes(passed=1, deselected=3)


def test_a_wrong_marker_that_a_fixture_adds_is_refused_too(
    project: pytest.Pytester, spine: FakeSpine
) -> None:
    project.makepyfile(
        """
        import pytest
        @pytest.fixture
        def marked(request):
            request.node.add_marker(pytest.mark.sla(tttf_p99="1s"))
        def test_it(marked, load): load(requests=60, prompts="Hi")
        """
    )
    project.runpytest_inprocess().assert_outcomes(errors=1)
    assert not spine.calls


def test_under_xdist_a_wrong_marker_lets_no_worker_send(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        def test_first(load): load(requests=1, prompts="Hi")
        @pytest.mark.sla(tttf_p99="1s")
        def test_wrong(load): load(requests=1, prompts="Hi")
        def test_plain(): pass
        """
    )
    result = project.runpytest_subprocess("-p", "xdist", "-n", "1")
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(
        ["no load is sent: *::test_wrong: sla marker: tttf_p99*", "sla marker: tttf_p99: *"]
    )


def test_goodput_without_an_objective_is_refused_before_any_load(
    project: pytest.Pytester, spine: FakeSpine
) -> None:
    project.makepyfile(_test("goodput='>=5/s'"))
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no objective says what a good request is*"])
    assert not spine.calls


def test_marker_without_a_load_is_no_pass(project: pytest.Pytester) -> None:
    project.makepyfile(_test("ttft_p99='1s'", "pass"))
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*made no load*"])


def test_failing_body_is_told_before_the_marker(project: pytest.Pytester) -> None:
    project.makepyfile(_test("ttft_p50='1ms'", "load(requests=60, prompts='Hi'); assert 1 == 2"))
    result = project.runpytest_inprocess()
    result.stdout.fnmatch_lines(["*assert 1 == 2*", "*= SLA =*", "ttft p50 <= 1ms*FAIL"])


def test_every_load_of_a_test_is_judged(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(
        _test("ttft_p50='1s'", "load(requests=60, prompts='Hi'); load(requests=2, prompts='Hi')")
    )
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["SLA undecided*"])
    assert len({call["result_dir"] for call in spine.calls}) == 2


def test_nearer_marker_wins(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(
        """
        import pytest
        pytestmark = pytest.mark.sla(ttft_p50="1ms", tpot_mean="1s")
        @pytest.mark.sla(ttft_p50="1s")
        def test_it(load):
            load(requests=60, prompts="Hi")
        """
    )
    project.runpytest_inprocess().assert_outcomes(passed=1)
    assert dict(spine.calls[0]["scenario"].thresholds) == {"ttft": ("p50 <= 1s",), "tpot": ("mean <= 1s",)}


def test_marker_selects_and_is_known(project: pytest.Pytester) -> None:
    project.makepyfile(_test("ttft_p50='1s'") + "\n        def test_other(): pass\n")
    project.runpytest_inprocess("-m", "sla", "--strict-markers").assert_outcomes(passed=1, deselected=1)
    project.runpytest_inprocess("--markers").stdout.fnmatch_lines(["@pytest.mark.sla(ttft_p99='500ms'*"])


def test_junit_has_the_numbers(project: pytest.Pytester) -> None:
    project.makepyfile(_test("ttft_p50='1s', error_rate='<10%'", "run = load(requests=60, prompts='Hi')"))
    project.runpytest_inprocess("--junitxml=out.xml")
    tree = ET.parse(project.path / "out.xml")
    found = {each.get("name"): each.get("value") for each in tree.iter("property")}
    test = "sla.test_junit_has_the_numbers.py::test_it"
    assert float(found[f"{test}.ttft.p50"] or 0) == pytest.approx(100e6, rel=1e-3)
    assert (found[f"{test}.error_rate"], found[f"{test}.error_rate.verdict"]) == ("0.0", "PASS")
    assert f"{test}.result" in found
    assert not list(faults(tree.getroot()))
