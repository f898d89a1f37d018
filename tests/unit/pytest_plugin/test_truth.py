"""What is neither true nor false ends the test, and what says nothing is no objective."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.pytest_plugin.conftest import FakeSpine

pytest_plugins = ["pytester"]


def _test(*lines: str) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"import pytest\ndef test_it(load):\n    run = load(requests=60, prompts='Hi')\n{body}\n"


NEGATED = _test("assert not run.ttft.p(99) <= '5s'")


def test_undecided_is_not_false(project: pytest.Pytester) -> None:
    project.makepyfile(NEGATED)
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*ttft p99 <= 5s: SLA undecided", "E*measured 0.1* s *n=60", "E*result: *"])
    assert "harness/" not in result.stdout.str()


def test_undecided_is_not_false_where_it_is_to_skip(project: pytest.Pytester) -> None:
    project.makepyfile(NEGATED)
    project.runpytest_inprocess("--sla-inconclusive=skip").assert_outcomes(skipped=1)


def test_undecided_is_true_where_it_is_forgiven(project: pytest.Pytester) -> None:
    project.makepyfile(NEGATED)
    project.runpytest_inprocess("--sla-inconclusive=warn").assert_outcomes(failed=1)


def test_what_cannot_be_trusted_is_not_false(project: pytest.Pytester, spine: FakeSpine) -> None:
    spine.failing = 60
    project.makepyfile(NEGATED)
    for choice in ("fail", "warn", "skip"):
        result = project.runpytest_inprocess(f"--sla-inconclusive={choice}")
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["E*ttft p99 <= 5s: SLA invalid"])


def test_what_is_missed_is_false(project: pytest.Pytester) -> None:
    project.makepyfile(_test("assert not run.ttft.p(50) <= '1ms'"))
    project.runpytest_inprocess().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("assert run.attainment == 1", "'==' can't be judged; use one of <*"),
        ("assert run.errors.rate != 1", "'!=' can't be judged; use one of <*"),
        ("assert run.ttft.p(50)", "ttft p50 = 100* ms by itself is no objective; compare it*"),
        ("assert not run.errors.rate", "error_rate = 0 % by itself is no objective*"),
        ("run.check()", "check() judges nothing; write an objective*"),
        ("run.check(ttft_p95='baseline + 10%')", "*sla_baseline('NAME', ttft_p95='10%')*"),
        ("run.attainment >= 1", "*write 1% or 100%"),
    ],
)
def test_what_says_nothing_is_refused(project: pytest.Pytester, expression: str, said: str) -> None:
    project.makepyfile(_test(expression))
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E*RuleError: *{said}"])
    result.stdout.no_fnmatch_line("*raised in repr*")


def test_every_number_can_be_shown(project: pytest.Pytester, spine: FakeSpine) -> None:
    spine.failing = 6
    project.makepyfile(
        """
        import pytest
        def test_it(load):
            run = load(requests=60, prompts="Hi", thresholds={"ttft": "p50 < 1s"})
            assert str(run.errors.rate) == "error_rate = 10 %" and float(run.errors.rate) == 0.1
            assert str(run.attainment) == "attainment = 90 %"
            assert str(run.output_tokens.min) == "output_tokens min = 4 tokens"
            assert run.ttft.p(0.00001).value == pytest.approx(100e6, rel=1e-3)
            assert float(run.goodput) > 0
        def test_without_samples(load):
            run = load(concurrency=1, requests=60, prompts="Hi")
            for number in (run.schedule_lag.p(95), run.token_deadline_attainment.mean, run.attainment):
                assert number.value is None
                assert str(number).endswith(" = \\u2013")
                with pytest.raises(ValueError, match="no sample"):
                    float(number)
        """
    )
    project.runpytest_inprocess().assert_outcomes(passed=2)
