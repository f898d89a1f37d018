"""The free blocks are the cache: which goes first, which is found, what a taken block loses."""

from __future__ import annotations

import pytest

from reference_server.engine.block_pool import BlockPool


def cached_pool(num_blocks: int, keys: str) -> BlockPool:
    """A pool in which blocks were taken, published and given back in the order of ``keys``."""
    pool = BlockPool(num_blocks)
    blocks = [pool.take() for _ in keys]
    for block, key in zip(blocks, keys, strict=True):
        pool.publish(block, key.encode())
        pool.give_back(block)
    pool.check_invariants()
    return pool


def test_blocks_without_content_are_taken_before_cached_ones() -> None:
    pool = cached_pool(4, "ab")
    assert [pool.take() for _ in range(2)] == [3, 4]
    assert (pool.find(b"a"), pool.find(b"b")) == (1, 2)


def test_the_least_recently_used_is_taken_first_and_found_no_more() -> None:
    pool = cached_pool(3, "abc")
    pool.share(1)
    pool.give_back(1)
    assert pool.take() == 2
    assert [pool.find(key) for key in (b"a", b"b", b"c")] == [1, None, 3]


def test_a_block_that_is_in_use_is_found_and_never_taken() -> None:
    pool = BlockPool(2)
    block = pool.take()
    pool.publish(block, b"a")
    pool.share(block)
    assert pool.num_free == 1
    assert pool.take() != block
    pool.give_back(block)
    assert pool.num_free == 0, "the other owner still has it"
    assert pool.find(b"a") == block


def test_a_block_without_a_key_is_the_next_to_be_taken() -> None:
    pool = cached_pool(3, "ab")
    block = pool.take()
    pool.give_back(block)
    assert pool.take() == block


def test_of_two_blocks_with_the_same_content_the_first_is_found() -> None:
    pool = BlockPool(2)
    first, second = pool.take(), pool.take()
    pool.publish(first, b"a")
    pool.publish(second, b"a")
    assert (pool.find(b"a"), pool.key_of(second)) == (first, None)
    pool.check_invariants()


def test_after_forgetting_nothing_is_found_and_owners_keep_theirs() -> None:
    pool = cached_pool(3, "ab")
    pool.share(1)
    pool.forget_all()
    assert (pool.find(b"a"), pool.find(b"b")) == (None, None)
    assert (pool.num_owners(1), pool.num_free) == (1, 2)
    pool.publish(1, b"a")
    assert pool.find(b"a") == 1


def test_what_is_shared_counts_as_free_only_without_owners() -> None:
    pool = cached_pool(3, "ab")
    assert pool.count_free([1, 2]) == 2
    pool.share(1)
    assert pool.count_free([1, 2]) == 1


@pytest.mark.parametrize("fault", ["_num_owners", "_by_key", "_free"])
def test_invariants_notice_a_fault(fault: str) -> None:
    pool = cached_pool(3, "ab")
    if fault == "_num_owners":
        pool._num_owners[1] = 1
    elif fault == "_by_key":
        pool._by_key[b"c"] = 3
    else:
        pool._free.move_to_end(3)
    with pytest.raises(AssertionError):
        pool.check_invariants()
