"""What the model of costs expects, held against counts by hand."""

from __future__ import annotations

import pytest

from harness.lab.cost_model import Expected, Work, expect, machine


def expected(
    works: list[tuple[int, int]], concurrency: int, free_rows: float = 1, **settings: object
) -> Expected:
    found = [Work(num_prompt_tokens=p, num_output_tokens=n) for p, n in works]
    return expect(found, concurrency, machine(settings, free_rows))


@pytest.mark.parametrize("off", ["off", False])
def test_without_a_cache_an_answer_costs_the_sum_of_its_lengths(off: object) -> None:
    assert expected([(5, 4)], 1).duration == 5 + 3
    assert expected([(5, 4)], 1, kv_cache=off).duration == 5 + 6 + 7 + 8


def test_a_step_takes_as_long_as_reading_the_weights() -> None:
    assert expected([(5, 4)], 1, free_rows=10).duration == 40


def test_a_static_batch_lasts_as_long_as_its_longest_and_is_padded_to_it() -> None:
    works = [(4, 1), (2, 3), (4, 1)]
    static = expected(works, 2, batching="static", max_num_seqs=2)
    assert static.duration == 2 * 4 + 2 + 2 + 4
    assert expected(works, 2, max_num_seqs=2).duration == 6 + (1 + 4) + 1
    assert static.mean_e2e == pytest.approx((8 + 12 + 8) / 3)


def test_contiguous_reservation_lets_fewer_in() -> None:
    pool = {"block_size": 10, "num_gpu_blocks_override": 4, "max_model_len": 20}
    works = [(2, 3)] * 4
    paged = expected(works, 4, free_rows=100, **pool)
    contiguous = expected(works, 4, free_rows=100, kv_allocation="contiguous", **pool)
    assert (paged.duration, contiguous.duration) == (300, 600)
