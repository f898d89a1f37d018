"""Recorded traffic through the block manager: what a cache without bounds finds is known exactly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reference_server.engine.block_manager import BlockManager
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.engine.sequence import Sequence

TRACES = Path("tests/data/traces")
UNIQUE_TAIL = -1


def read(name: str) -> list[list[int]]:
    """The hash ids of each request."""
    lines = (TRACES / f"mooncake_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["hash_ids"] for line in lines]


def serve(blocks: BlockManager, prompt: list[int]) -> int:
    """Compute and finish one prompt by itself; how many of its blocks were found."""
    request = EngineRequest(
        request_id="a", prompt_token_ids=prompt, sampling=SamplingParams(max_tokens=1, seed=0)
    )
    sequence = Sequence(request)
    prefix = blocks.find_prefix(sequence)
    assert blocks.can_grow(sequence, sequence.num_tokens, prefix=prefix)
    blocks.take_over(sequence, prefix)
    blocks.grow(sequence, sequence.num_tokens)
    blocks.publish(sequence, sequence.num_tokens)
    blocks.release(sequence)
    return len(prefix)


@pytest.mark.parametrize(
    ("name", "num_found", "num_blocks"),
    [("conversation_head2000", 15_771, 54_559), ("synthetic_head1500", 8_383, 35_135)],
)
def test_mooncake_traces_hit_as_often_as_they_must(name: str, num_found: int, num_blocks: int) -> None:
    """A hash id of the trace is a block of one token here; one more token is what is always computed."""
    prompts = read(name)
    blocks = BlockManager(num_blocks=num_blocks + 1, block_size=1)
    found = sum(serve(blocks, [*prompt, UNIQUE_TAIL]) for prompt in prompts)
    assert sum(map(len, prompts)) == num_blocks
    assert found == num_found
    blocks.check_invariants([])


def test_a_pool_that_is_too_small_finds_less_and_stays_whole() -> None:
    prompts = read("conversation_head2000")
    longest = max(map(len, prompts))
    found = []
    for num_blocks in (longest + 1, 2_000, 20_000):
        blocks = BlockManager(num_blocks, block_size=1)
        found.append(sum(serve(blocks, [*prompt, UNIQUE_TAIL]) for prompt in prompts))
        blocks.check_invariants([])
    assert 0 < found[0] < found[1] < found[2] < 15_771
