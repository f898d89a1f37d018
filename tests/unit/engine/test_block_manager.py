"""Blocks are owned once, come back at once, and never move."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reference_server.engine.block_manager import BlockManager
from reference_server.engine.sequence import Sequence

MakeSequence = Callable[..., Sequence]


def test_a_table_grows_by_whole_blocks_and_never_moves(make_sequence: MakeSequence) -> None:
    blocks, sequence = BlockManager(num_blocks=8, block_size=4), make_sequence()
    blocks.grow(sequence, 4)
    first = list(sequence.block_table)
    blocks.grow(sequence, 4)
    assert sequence.block_table == first
    blocks.grow(sequence, 9)
    assert sequence.block_table[:1] == first
    assert len(sequence.block_table) == 3
    assert blocks.num_free_blocks == 5


def test_block_zero_is_never_handed_out(make_sequence: MakeSequence) -> None:
    blocks, sequence = BlockManager(num_blocks=4, block_size=1), make_sequence()
    blocks.grow(sequence, 4)
    assert sorted(sequence.block_table) == [1, 2, 3, 4]


def test_can_grow_counts_what_must_stay_free(make_sequence: MakeSequence) -> None:
    blocks, sequence = BlockManager(num_blocks=3, block_size=4), make_sequence()
    assert blocks.can_grow(sequence, 8, keep_free=1)
    assert not blocks.can_grow(sequence, 9, keep_free=1)
    blocks.grow(sequence, 12)
    assert blocks.can_grow(sequence, 12, keep_free=1), "nothing more is needed"


def test_released_blocks_serve_at_once(make_sequence: MakeSequence) -> None:
    blocks, first, second = BlockManager(num_blocks=2, block_size=4), make_sequence("a"), make_sequence("b")
    blocks.grow(first, 8)
    blocks.release(first)
    assert blocks.can_grow(second, 8)
    assert first.block_table == []


def test_invariants_notice_a_lost_block_and_a_shared_one(make_sequence: MakeSequence) -> None:
    blocks, sequence = BlockManager(num_blocks=3, block_size=4), make_sequence()
    blocks.grow(sequence, 8)
    blocks.check_invariants([sequence])
    with pytest.raises(AssertionError):
        blocks.check_invariants([])
    with pytest.raises(AssertionError):
        blocks.check_invariants([sequence, sequence])
