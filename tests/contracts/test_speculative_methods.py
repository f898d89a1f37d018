"""What every method of speculative decoding must do, however it guesses."""

from __future__ import annotations

import gc
import random
import weakref
from typing import Any

import pytest

from reference_server.engine.config import EngineConfig
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.engine.sequence import Sequence
from reference_server.speculative import (
    Proposer,
    SpeculativeConfigError,
    Target,
    method_names,
    speculative_config,
)

NAMES = method_names()
KEYS: dict[str, dict[str, Any]] = {"draft_model": {"model": "tiny-random"}}
"""What a method must be told."""

VOCAB_SIZE = 12
TARGET = Target(
    config=EngineConfig(model="tiny-random", device="cpu", cpu_threads=1),
    vocab_size=512,
    eos_token_ids=(1,),
    max_model_len=4096,
    block_size=8,
    dtype="float32",
    device="cpu",
)


def settings(name: str) -> dict[str, Any]:
    return {"method": name, "num_speculative_tokens": 4} | KEYS.get(name, {})


def make_proposer(name: str) -> Proposer:
    """For the target, which has 1000 KV blocks."""
    return speculative_config(settings(name)).prepare(TARGET).make_proposer(1000)


def sequence(request_id: str, prompt: list[int]) -> Sequence:
    sampling = SamplingParams(max_tokens=200, seed=0)
    return Sequence(EngineRequest(request_id=request_id, prompt_token_ids=prompt, sampling=sampling))


@pytest.mark.parametrize("name", NAMES)
def test_drafts_keep_to_their_limits_and_to_known_tokens(name: str) -> None:
    """For sequences that grow by any number of tokens, come and go, and are not always asked for."""
    rng = random.Random(0)
    proposer = make_proposer(name)
    live = [sequence(str(n), [rng.randrange(VOCAB_SIZE) for _ in range(1 + 9 * n)]) for n in range(5)]
    num_drafted = 0
    for number in range(50):
        limits = {s: rng.randint(1, 4) for s in live if rng.random() < 0.8}
        drafts = proposer.propose(limits)
        assert set(drafts) <= set(limits)
        for drafted, draft in drafts.items():
            assert len(draft) <= limits[drafted]
            assert all(0 <= token_id < TARGET.vocab_size for token_id in draft)
            num_drafted += len(draft)
        for drafted in live:
            for _ in range(rng.randint(1, 5)):
                drafted.append(drafted.num_tokens % 7)
        if number % 25 == 24:
            gone = rng.randrange(5)
            if number % 50 == 49:
                proposer.ended(live[gone])
            live[gone] = sequence(f"new {number}", [1, 2, 3])
    assert num_drafted > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_sequence_may_end_before_it_was_asked_for_and_is_held_no_longer(name: str) -> None:
    proposer = make_proposer(name)
    asked, never_asked = sequence("a", [1, 2, 1, 2]), sequence("b", [1])
    for ending in (asked, never_asked):
        ending.append(1)
    proposer.propose({asked: 4})
    references = []
    for ending in (asked, never_asked):
        proposer.ended(ending)
        references.append(weakref.ref(ending))
    del asked, never_asked, ending
    gc.collect()
    assert [reference() for reference in references] == [None, None]
    proposer.propose({sequence("c", [1, 2, 1]): 4})


@pytest.mark.parametrize("name", NAMES)
def test_a_method_describes_itself_and_refuses_what_it_does_not_know(name: str) -> None:
    assert speculative_config(settings(name)).describe().startswith(f"{name}, 4 tokens")
    with pytest.raises(SpeculativeConfigError, match=f"method {name} has no key 'colour'"):
        speculative_config(settings(name) | {"colour": "red"})
