"""A key stands for all tokens up to the end of its block, and for the salt."""

from __future__ import annotations

from reference_server.engine.block_key import block_keys
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.engine.sequence import Sequence


def keys(prompt: list[int], num_blocks: int, *, block_size: int = 2, salt: str | None = None) -> list[bytes]:
    sampling = SamplingParams(max_tokens=1, seed=0)
    request = EngineRequest(request_id="a", prompt_token_ids=prompt, sampling=sampling, cache_salt=salt)
    return block_keys(Sequence(request), num_blocks, block_size)


def test_equal_beginnings_have_equal_keys_until_they_part() -> None:
    left, right = keys([1, 2, 3, 4, 5, 6], 3), keys([1, 2, 3, 4, 5, 7], 3)
    assert left[:2] == right[:2]
    assert left[2] != right[2]


def test_the_same_tokens_after_others_have_another_key() -> None:
    assert keys([1, 2, 8, 9], 2)[1] != keys([1, 3, 8, 9], 2)[1]


def test_tokens_can_not_move_between_blocks_or_digits() -> None:
    assert len({keys(prompt, 1)[0] for prompt in ([1, 23], [12, 3], [23, 1], [1, 2])}) == 4
    assert keys([1, 2], 1, block_size=1) != keys([1, 2], 1, block_size=2)


def test_H7_each_salt_has_keys_of_its_own() -> None:
    salts = (None, "a", "b", "salt:", "None", "\ud800")
    assert len({keys([1, 2], 1, salt=salt)[0] for salt in salts}) == len(salts)


def test_keys_are_remembered_and_continue_with_the_output() -> None:
    request = EngineRequest(
        request_id="a", prompt_token_ids=[1, 2, 3], sampling=SamplingParams(max_tokens=1, seed=0)
    )
    sequence = Sequence(request)
    first = list(block_keys(sequence, 1, 2))
    sequence.append(4)
    both = block_keys(sequence, 2, 2)
    assert both is sequence.block_keys
    assert both[:1] == first
    assert both == keys([1, 2, 3, 4], 2)
