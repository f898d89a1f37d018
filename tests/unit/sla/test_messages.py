"""The sentence beside a verdict points the way that the verdict does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.sla.judge import judge
from reports.result import Verdict

if TYPE_CHECKING:
    from tests.unit.sla.conftest import Take


@pytest.mark.parametrize(
    ("condition", "verdict", "side", "bound"),
    [
        ("mean < 1.9", Verdict.FAIL, "is at least 1.9", "(at least"),
        ("mean > 2.1", Verdict.FAIL, "is at most 2.1", "(at most"),
        ("mean <= 2.1", Verdict.PASS, "is at most 2.1", "(at most"),
        ("mean >= 1.9", Verdict.PASS, "is at least 1.9", "(at least"),
        ("mean < 3", Verdict.PASS, "is below 3", "(at most"),
        ("mean > 3", Verdict.FAIL, "is at most 3", "(at most"),
        ("p50 < 2", Verdict.FAIL, "is at least 2", "(at least"),
        ("p50 >= 2", Verdict.PASS, "is at least 2", "(at least"),
        ("p50 <= 1", Verdict.FAIL, "is above 1", "(at least"),
        ("p50 > 1", Verdict.PASS, "is above 1", "(at least"),
    ],
)
def test_the_bound_is_the_one_that_decided(
    take: Take, condition: str, verdict: Verdict, side: str, bound: str
) -> None:
    """Answers of two tokens each, exactly at the limit and beside it."""
    (result,) = judge(*take({"output_tokens": [condition]}, [100] * 100)).rules
    assert result.verdict is verdict
    assert side in result.message
    assert bound in result.message
