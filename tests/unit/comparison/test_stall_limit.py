"""Goodput by objectives on stalls is only comparable where a stall is the same."""

from __future__ import annotations

from typing import Any

import pytest

from harness.comparison.identity import _objectives


def _scenario(limit: str, **thresholds: list[str]) -> dict[str, Any]:
    return {"thresholds": thresholds, "stall_limit": limit}


@pytest.mark.parametrize(("metric", "alike"), [("stalls", False), ("ttft", True)])
def test_the_limit_belongs_to_objectives_on_stalls(metric: str, alike: bool) -> None:
    short, long = (_objectives(_scenario(limit, **{metric: ["max < 1"]})) for limit in ("1s", "2s"))
    assert (short == long) is alike
