"""Perplexity, divergence and agreement against values worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from reference_server.quality.figures import Tally, divergences, first_divergence


def _tally(reference: list[list[float]], candidate: list[list[float]], targets: list[int]) -> Tally:
    tally = Tally()
    tally.add(torch.tensor(reference).log(), torch.tensor(candidate).log(), torch.tensor(targets))
    return tally


def test_perplexity_is_the_inverse_of_the_geometric_mean_of_probabilities() -> None:
    found = _tally([[0.5, 0.5], [0.5, 0.5]], [[0.25, 0.75], [0.25, 0.75]], [0, 1]).quality()
    assert found.num_tokens == 2
    assert found.reference_perplexity == pytest.approx(2.0, rel=1e-6)
    assert found.perplexity == pytest.approx(1 / math.sqrt(0.25 * 0.75), rel=1e-6)
    assert found.perplexity_ratio == pytest.approx(found.perplexity / 2, rel=1e-6)


def test_the_error_of_the_ratio_is_that_of_a_mean_of_paired_differences() -> None:
    found = _tally([[0.5, 0.5]] * 2, [[0.25, 0.75]] * 2, [0, 1]).quality()
    gaps = (math.log(0.5 / 0.25), math.log(0.5 / 0.75))
    assert found.ratio_error == pytest.approx(abs(gaps[0] - gaps[1]) / 2, rel=1e-6)
    assert _tally([[0.5, 0.5]], [[0.25, 0.75]], [0]).quality().ratio_error is None


def test_divergence_is_of_the_candidate_from_the_reference_and_not_the_other_way() -> None:
    found = _tally([[0.5, 0.5]], [[0.25, 0.75]], [0]).quality()
    assert found.kl_mean == pytest.approx(0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75), rel=1e-6)
    assert found.kl_mean != pytest.approx(0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5), rel=1e-3)


def test_logits_need_no_normalization() -> None:
    tally = Tally()
    tally.add(torch.tensor([[3.0, 3.0]]), torch.tensor([[-7.0, -7.0]]), torch.tensor([1]))
    found = tally.quality()
    assert (found.perplexity, found.kl_mean) == (pytest.approx(2.0), 0.0)


def test_p99_is_a_value_that_99_of_100_positions_do_not_exceed() -> None:
    same, apart = [0.5, 0.5], [0.1, 0.9]
    one_of_a_hundred = _tally([same] * 100, [apart] + [same] * 99, [0] * 100).quality()
    two_of_a_hundred = _tally([same] * 100, [apart] * 2 + [same] * 98, [0] * 100).quality()
    assert one_of_a_hundred.kl_p99 == pytest.approx(0.0, abs=1e-12)
    assert two_of_a_hundred.kl_p99 == pytest.approx(0.5 * math.log(5) + 0.5 * math.log(0.5 / 0.9), rel=1e-6)


def test_agreement_is_the_share_of_positions_with_the_same_likeliest_token() -> None:
    found = _tally([[0.9, 0.1]] * 4, [[0.6, 0.4]] * 3 + [[0.4, 0.6]], [0] * 4).quality()
    assert found.top1_agreement == 0.75


def test_a_token_that_the_reference_rules_out_adds_nothing_and_one_that_the_candidate_does_infinity() -> None:
    never, even = torch.tensor([[1.0, 0.0]]).log(), torch.tensor([[0.5, 0.5]]).log()
    assert divergences(never, even).item() == pytest.approx(math.log(2))
    assert divergences(never, never).item() == 0.0
    assert divergences(even, never).item() == math.inf


def test_positions_added_in_parts_count_as_those_added_at_once() -> None:
    generator = torch.Generator().manual_seed(7)
    reference, candidate = torch.randn(2, 9, 5, generator=generator)
    targets = torch.arange(9) % 5
    whole, parts = Tally(), Tally()
    whole.add(reference, candidate, targets)
    for part in (slice(0, 4), slice(4, 9)):
        parts.add(reference[part], candidate[part], targets[part])
    assert parts.quality() == whole.quality()


@pytest.mark.parametrize(
    ("candidate", "expected"), [([5, 6, 7], None), ([4, 6, 7], 0), ([5, 6, 8], 2), ([5, 0, 8], 1)]
)
def test_first_divergence_is_the_place_of_the_first_other_token(
    candidate: list[int], expected: int | None
) -> None:
    assert first_divergence([5, 6, 7], candidate) == expected
