"""What verdicts tell of where the capacity lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import norm as normal

from harness.capacity.knee import Belief, tells
from reports.result import Verdict

if TYPE_CHECKING:
    from tests.unit.capacity.conftest import MakeProbe


def test_lies_between_what_passed_and_what_failed(make_probe: MakeProbe) -> None:
    loads = (4, 7.9, 8, 10, 10.2)
    belief = Belief([make_probe(load, "PASS" if load < 9 else "FAIL") for load in loads], 0.95)
    low, high = belief.interval(0.95)
    assert 7.5 < low < 8.2
    assert 9.8 < high < 10.7
    assert 8.7 < belief.quantile(0.5) < 9.2


def test_is_symmetrical_on_the_logarithmic_scale(make_probe: MakeProbe) -> None:
    belief = Belief([make_probe(5, "PASS"), make_probe(20, "FAIL")], 0.95)
    assert belief.quantile(0.5) == pytest.approx(10, rel=0.01)
    assert belief.quantile(0.1) * belief.quantile(0.9) == pytest.approx(100, rel=0.02)


def test_an_undecided_probe_says_nothing_of_its_side(make_probe: MakeProbe) -> None:
    """In the middle between a pass and a fail it leaves the middle where it is, and narrows both sides."""
    around = [make_probe(5, "PASS"), make_probe(20, "FAIL")]
    before, after = Belief(around, 0.95), Belief([*around, make_probe(10, "INCONCLUSIVE")], 0.95)
    assert after.quantile(0.5) == pytest.approx(before.quantile(0.5), rel=0.01)
    assert after.interval(0.95)[0] > before.interval(0.95)[0]
    assert after.interval(0.95)[1] < before.interval(0.95)[1]


def test_one_freak_is_outvoted(make_probe: MakeProbe) -> None:
    """A FAIL at a load far below several that passed moves nothing much."""
    passed = [make_probe(load, "PASS") for load in (4, 7, 8, 8.5)]
    told = [make_probe(2, "FAIL"), *passed, make_probe(10, "FAIL"), make_probe(9.5, "FAIL")]
    low, high = Belief(told, 0.95).interval(0.95)
    assert low > 7
    assert high < 11


def test_an_invalid_probe_tells_nothing_and_an_undecided_one_of_few_samples_neither(
    make_probe: MakeProbe,
) -> None:
    assert not tells(make_probe(5, "INVALID"))
    assert not tells(make_probe(5, "INCONCLUSIVE", num_independent=4.0))
    assert tells(make_probe(5, "INCONCLUSIVE", num_independent=100.0))
    assert tells(make_probe(5, "FAIL", num_independent=4.0))
    around = [make_probe(5, "PASS"), make_probe(20, "FAIL")]
    useless = [make_probe(6, "INVALID"), make_probe(6, "INCONCLUSIVE", num_independent=4.0)]
    one, other = Belief(around, 0.95), Belief([*around, *useless], 0.95)
    assert one.interval(0.95) == pytest.approx(other.interval(0.95))


def test_chance_falls_with_the_load(make_probe: MakeProbe) -> None:
    belief = Belief([make_probe(load, "PASS" if load < 9 else "FAIL") for load in (7, 8, 10, 11)], 0.95)
    chances = [belief.chance_at_least(load) for load in (2, 7, 8.5, 9, 9.5, 12, 30)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.99
    assert chances[-1] < 0.01


def test_holds_the_truth_as_often_as_it_says_under_its_own_model(make_probe: MakeProbe) -> None:
    """200 draws of capacity and slope; probes at fixed loads answer as the model has it."""
    rng, held = np.random.default_rng(0), 0
    loads, threshold = np.geomspace(4, 16, 7), normal.ppf(0.95)
    for _ in range(200):
        capacity, slope = np.exp(rng.uniform(np.log(4), np.log(16))), np.exp(rng.uniform(0, 3))
        scores = slope * 20 * np.log(capacity / loads) + rng.normal(size=loads.size)
        words = np.where(scores > threshold, "PASS", np.where(scores < -threshold, "FAIL", "INCONCLUSIVE"))
        probes = [make_probe(load, str(word)) for load, word in zip(loads, words, strict=True)]
        low, high = Belief(probes, 0.95).interval(0.9)
        held += low <= capacity <= high
    assert held >= 170


def test_verdicts_are_exactly_three_and_their_chances_add_up(make_probe: MakeProbe) -> None:
    """The belief after a probe is never the same for all verdicts."""
    around = [make_probe(5, "PASS"), make_probe(20, "FAIL")]
    told = (Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE)
    medians = [Belief([*around, make_probe(12, word)], 0.95).quantile(0.5) for word in told]
    assert medians[0] > 12 > medians[1]
    assert medians[1] < medians[2] < medians[0]
