"""The scheduler's fuzz at full length: 12 x 20,000 steps."""

from __future__ import annotations

import pytest
from support.scheduler_fuzz import Fuzz

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.mark.parametrize("seed", range(100, 112))
def test_S4_no_invariant_is_ever_violated(seed: int) -> None:
    Fuzz(seed).run(20_000)
