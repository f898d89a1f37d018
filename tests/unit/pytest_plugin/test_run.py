"""The run as a test sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.pytest_plugin.conftest import FakeSpine

pytest_plugins = ["pytester"]


def _test(*lines: str) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"import pytest\ndef test_it(load):\n    run = load(requests=60, prompts='Hi')\n{body}\n"


def test_numbers_and_requests(project: pytest.Pytester) -> None:
    project.makepyfile(
        _test(
            "assert run.ttft.p(90) <= '101ms'",
            "assert run.ttft.mean < '150ms' and run.tpot.mean >= '5ms'",
            "assert '500ms' >= run.ttft.p(50)",
            "assert run.service_ttft.max <= '1s'",
            "assert run.output_tokens.min >= 4",
            "assert run.errors.rate <= 0.05 and run.errors.count == 0",
            "assert run.output_token_rate > '10 tokens/s'",
            "assert float(run.ttft.p(50)) == pytest.approx(100e6, rel=1e-3)",
            "assert run.verdict is None and run.result.num_requests == 60",
            "first = run.requests[0]",
            "assert first.ok and first.text == 'answer 0' and first.output_tokens == 4",
            "assert first.ttft == '100ms' and first.tpot < '11ms' and first.e2e == 130e6",
            "assert first.e2e == first.ttft + first.tpot * (first.output_tokens - 1)",
            "run.check(ttft_p90='500ms', tpot_mean='50ms')",
        )
    )
    project.runpytest_inprocess("-W", "error").assert_outcomes(passed=1)


def test_missed_comparison_explains_itself(project: pytest.Pytester) -> None:
    project.makepyfile(_test("assert run.ttft.p(50) <= '80ms'"))
    result = project.runpytest_inprocess()
    result.stdout.fnmatch_lines(
        [
            "E*assert ttft p50 <= 80ms: SLA missed",
            "E*measured 100* ms  limit 80 ms  margin -2* ms (-25*%)  n=60",
            "E*interval 100* ms to 100* ms  client error 100 µs",
            "E*60 of 60 over the limit",
            "E*result: *test_it-1",
            "*= SLA =*",
            "ttft p50 <= 80ms*FAIL",
            "FAILED*- assert ttft p50 <*",
        ]
    )


def test_undecided_comparison_is_not_true(project: pytest.Pytester) -> None:
    project.makepyfile(_test("assert run.ttft.p(99) <= '500ms'"))
    project.runpytest_inprocess().stdout.fnmatch_lines(["E*ttft p99 <= 500ms: SLA undecided"])


def test_comparison_without_samples_is_not_true(project: pytest.Pytester, spine: FakeSpine) -> None:
    spine.failing = 60
    project.makepyfile(_test("assert run.ttft.p(50) <= '500ms'"))
    project.runpytest_inprocess().stdout.fnmatch_lines(
        ["E*ttft p50 <= 500ms: SLA invalid", "E*no sample of ttft*"]
    )


def test_errors_show_what_happened(project: pytest.Pytester, spine: FakeSpine) -> None:
    spine.failing = 6
    project.makepyfile(
        _test(
            "assert run.errors.count == 6 and run.errors.classes[0].sample == 'gone'",
            "assert run.requests[0].outcome == 'reset' and run.requests[0].ttft is None",
            "assert repr(run.errors) == '<6 errors: 6 reset>'",
            "assert run.errors.rate <= 0.01",
        )
    )
    project.runpytest_inprocess().stdout.fnmatch_lines(["E*error_rate <= 1%: SLA missed"])


def test_check_tells_all_at_once(project: pytest.Pytester) -> None:
    project.makepyfile(_test("run.check(ttft_p50='1ms', tpot_mean='1ms')"))
    project.runpytest_inprocess().stdout.fnmatch_lines(
        ["*AssertionError: SLA missed: ttft p50 <= 1ms, tpot mean <= 1ms"]
    )


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("run.tttf", "a run has no 'tttf'; did you mean 'ttft'?"),
        ("run.ttft.p(101)", "a percentile lies between 0 and 100"),
        ("run.ttft.p(50) < 500", "500 has no unit"),
        ("run.ttft.p(50) < run.tpot.p(50)", "can be compared with a limit such as '500ms'"),
        ("run.requests[0].ttft < [1]", "a time can be compared with '500ms'"),
        ("run.itl_service", "a run has no 'itl_service'"),
    ],
)
def test_mistake_is_told(project: pytest.Pytester, expression: str, said: str) -> None:
    project.makepyfile(_test(expression))
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{said.replace('[', '[[]')}*"])


def test_other_comparisons_are_left_alone(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(): assert [1] == [2]")
    project.runpytest_inprocess().stdout.fnmatch_lines(["E*At index 0 diff: 1 != 2"])
