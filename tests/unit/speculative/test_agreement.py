"""How often guesses come true is learnt from all guesses, drafted or not."""

from __future__ import annotations

import pytest

from reference_server.engine.agreement import Agreement, Share, common_shares


def test_a_share_begins_with_what_is_expected_and_follows_what_is_seen() -> None:
    share = Share(memory=16)
    assert share.value(0.3) == 0.3
    for _ in range(100):
        share.add(hit=True)
    assert share.value(0.0) == pytest.approx(16 / 18, abs=0.01)
    for _ in range(16):
        share.add(hit=False)
    assert share.value(0.0) == pytest.approx(0.33, abs=0.02), "old trials fade"


def test_each_token_of_a_guess_is_judged_until_one_is_wrong() -> None:
    common = common_shares()
    agreement = Agreement(common)
    agreement.guess([1, 2, 3, 4])
    agreement.judge([1, 2, 9, 4])
    assert common.first.value(0.0) == pytest.approx(1 / 3)  # one trial, one hit, and two that expect none
    assert common.later.value(0.0) == pytest.approx((1 * (1 - 1 / 128)) / (2 - 1 / 128 + 2))


def test_a_guess_stays_open_over_steps_that_draft_nothing() -> None:
    """So that its later tokens are judged as well, and only once."""
    common = common_shares()
    agreement = Agreement(common)
    for token, newest in zip([1, 2, 3], [[1, 2, 3], [7, 7, 7], [7, 7, 7]], strict=True):
        agreement.guess(newest)
        agreement.judge([token])
    assert common.first.value(0.0) == pytest.approx(1 / 3)
    assert common.later.value(1.0) == 1.0
    agreement.guess([5])
    agreement.judge([6])
    assert common.first.value(0.0) == pytest.approx((1 - 1 / 128) / (2 - 1 / 128 + 2))


def test_what_comes_without_a_guess_says_nothing() -> None:
    common = common_shares()
    agreement = Agreement(common)
    agreement.judge([1, 2])
    agreement.guess([])
    agreement.judge([1, 2])
    assert agreement.chances(2) == [0.5, 0.25]


def test_chances_fall_from_token_to_token_and_a_new_sequence_expects_what_others_saw() -> None:
    common = common_shares()
    first = Agreement(common)
    for _ in range(200):
        first.guess([1, 2, 3])
        first.judge([1, 2, 9])
    later = 0.5
    assert first.chances(3) == pytest.approx([1.0, later, later**2], abs=0.05)
    assert Agreement(common).chances(3) == pytest.approx([1.0, later, later**2], abs=0.05)
    assert first.chances(0) == []
