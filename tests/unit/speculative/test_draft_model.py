"""A model that drafts: its own keys and values, what it follows, what it gives back, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from support.noisy_model import write_noisy_model

from reference_server.config import ServerConfig
from reference_server.engine.engine import Engine
from reference_server.engine.request import EngineOutput, EngineRequest
from reference_server.engine.sequence import Sequence
from reference_server.model_store import UnknownModelError
from reference_server.quantization import UnsupportedQuantizationError
from reference_server.speculative import SpeculativeConfigError
from reference_server.speculative.drafter.proposer import DraftModelProposer

if TYPE_CHECKING:
    from pathlib import Path

MakeRequest = Callable[..., EngineRequest]
MakeEngine = Callable[..., Engine]
Answers = dict[str, list[EngineOutput]]
Run = Callable[..., Answers]
Tokens = Callable[[Answers], dict[str, list[int]]]
SAME = {"model": "tiny-random"}


def drafter(engine: Engine) -> DraftModelProposer:
    proposer = engine._scheduler._drafting._proposer  # type: ignore[union-attr]  # it drafts
    assert isinstance(proposer, DraftModelProposer)
    return proposer


def num_held(engine: Engine) -> int:
    """Blocks of the draft model's pool that somebody owns."""
    blocks = drafter(engine).blocks
    return blocks.num_blocks - blocks.num_free_blocks


@pytest.fixture(scope="module")
def plain(make_engine: MakeEngine) -> Engine:
    """Drafts nothing."""
    return make_engine()


@pytest.fixture(scope="module")
def twin(make_engine: MakeEngine) -> Engine:
    """Drafts by the target's own weights."""
    return make_engine(4, "draft_model", SAME)


@pytest.fixture(scope="module")
def noisy(make_engine: MakeEngine) -> Engine:
    """Drafts by a model that errs."""
    return make_engine(4, "draft_model")


@pytest.mark.parametrize("method", ["greedy", "seeded", "probabilistic"])
@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_C8_06_a_draft_model_that_is_the_target_is_always_right(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest, method: str, temperature: float
) -> None:
    """All accepted, draft + 1 tokens a step; greedy guesses of a request that samples are right at times."""
    engine = make_engine(4, "draft_model", SAME | {"draft_sample_method": method})
    outputs = run(engine, make_request(max_tokens=51, temperature=temperature, top_p=0.95))["a"]
    stats = engine.stats
    if method == "greedy" and temperature:
        assert 0 < sum(stats.num_accepted_per_pos) < stats.num_draft_tokens
    else:
        assert [len(output.token_ids) for output in outputs] == [1] + [5] * 10
        assert stats.num_accepted_per_pos == (10, 10, 10, 10)
        assert stats.generation_tokens == 51 == 1 + stats.num_drafts + sum(stats.num_accepted_per_pos)


def test_seeded_guesses_change_no_token_and_are_right_more_often(
    make_engine: MakeEngine, run: Run, tokens: Tokens, make_request: MakeRequest, plain: Engine, noisy: Engine
) -> None:
    requests = [make_request(str(n), [9, n + 2], temperature=1.0, seed=n, top_k=30) for n in range(6)]
    expected, accepted = tokens(run(plain, *requests)), []
    for engine in (noisy, make_engine(4, "draft_model", {"draft_sample_method": "seeded"})):
        before = sum(engine.stats.num_accepted_per_pos)
        assert tokens(run(engine, *requests)) == expected
        accepted.append(sum(engine.stats.num_accepted_per_pos) - before)
    assert accepted[1] > 1.2 * accepted[0]


def test_probabilistic_drafts_change_no_greedy_token_and_repeat_a_seed(
    make_engine: MakeEngine, run: Run, tokens: Tokens, make_request: MakeRequest, plain: Engine
) -> None:
    engine = make_engine(4, "draft_model", {"draft_sample_method": "probabilistic"})
    greedy = [make_request(str(n), [9, n + 2], logprobs=2, repetition_penalty=1.2) for n in range(2)]
    with_drafts, without = run(engine, *greedy), run(plain, *greedy)
    assert tokens(with_drafts) == tokens(without)
    for request_id, outputs in without.items():
        left = [entry.logprob for output in outputs for entry in output.logprobs or ()]
        right = [entry.logprob for output in with_drafts[request_id] for entry in output.logprobs or ()]
        assert right == pytest.approx(left, abs=1e-4)
    drawn = [make_request(str(n), [9, n + 2], temperature=0.9, seed=n) for n in range(2)]
    assert tokens(run(engine, *drawn)) == tokens(run(engine, *drawn)) != tokens(run(plain, *drawn))


def test_logprobs_are_those_without_drafts(
    run: Run, make_request: MakeRequest, plain: Engine, noisy: Engine
) -> None:
    requests = [make_request(str(n), [2 + n] * 6, temperature=n % 2, seed=n, logprobs=3) for n in range(4)]
    without, with_drafts = run(plain, *requests), run(noisy, *requests)
    for request_id, outputs in without.items():
        left = [entry for output in outputs for entry in output.logprobs or ()]
        right = [entry for output in with_drafts[request_id] for entry in output.logprobs or ()]
        assert [entry.token_id for entry in right] == [entry.token_id for entry in left]
        assert [e.logprob for e in right] == pytest.approx([e.logprob for e in left], abs=1e-4)


def test_a_draft_after_refused_tokens_is_that_of_a_fresh_start(
    make_engine: MakeEngine, make_request: MakeRequest, noisy: Engine
) -> None:
    """What was refused leaves nothing: the same guesses as a draft model that sees the text anew."""
    fresh = drafter(make_engine(4, "draft_model", enable_prefix_caching=False))
    proposer, sequence = drafter(noisy), Sequence(make_request("a", [5, 6, 7] * 7, max_tokens=200))
    for number in range(30):
        (draft,) = proposer.propose({sequence: 1 + number % 4}).values()
        (again,) = fresh.propose({sequence: 1 + number % 4}).values()
        fresh.ended(sequence)
        assert draft == again
        for token_id in [*draft[: number % 5], 40 + number]:
            sequence.append(token_id)
    proposer.ended(sequence)


def test_only_what_is_new_is_computed(make_request: MakeRequest, noisy: Engine) -> None:
    """A token after a refused draft, two after one that stood whole: its last token was never computed."""
    proposer, sequence = drafter(noisy), Sequence(make_request("a", [5, 9] * 20, max_tokens=200))
    (draft,) = proposer.propose({sequence: 4}).values()
    for num_right, num_rows in ((4, 2), (3, 1), (0, 1), (1, 1)):
        for token_id in [*draft[:num_right], [*draft, 3][num_right] ^ 1]:
            sequence.append(token_id)
        (draft,) = proposer.propose({sequence: 4}).values()
        assert [rows for rows, _ in proposer.passes()] == [num_rows, 1, 1, 1]
    proposer.ended(sequence)


def test_a_long_prompt_is_caught_up_in_chunks_beside_others_that_draft(
    make_engine: MakeEngine, make_request: MakeRequest
) -> None:
    proposer = drafter(make_engine(2, "draft_model", max_num_batched_tokens=32))
    long, short = (Sequence(make_request(name, [n] * n)) for name, n in (("long", 80), ("short", 5)))
    num_drafts = []
    for _ in range(4):
        drafts = proposer.propose({long: 2, short: 2})
        num_drafts.append((len(drafts.get(long, ())), len(drafts[short])))
        assert max(rows for rows, _ in proposer.passes()) <= 32
        short.append(7)
    assert num_drafts == [(0, 2), (0, 2), (2, 2), (0, 2)], "a sequence without a new token has no new draft"


def test_choices_of_a_request_share_their_prompt_in_its_pool(
    make_request: MakeRequest, make_engine: MakeEngine
) -> None:
    engine = make_engine(2, "draft_model", block_size=4)
    prompt = list(range(2, 42))
    choices = [Sequence(make_request(str(n), prompt)) for n in range(3)]
    for sequence in choices:
        sequence.append(50)
    drafter(engine).propose(dict.fromkeys(choices, 2))
    assert [rows for rows, _ in drafter(engine).passes()] == [41 + 2, 3]
    assert num_held(engine) == 10 + 3
    for sequence in choices:
        drafter(engine).ended(sequence)
    assert num_held(engine) == 0


def test_a_reset_of_the_prefix_cache_is_one_of_its_own_as_well(
    make_request: MakeRequest, make_engine: MakeEngine
) -> None:
    engine = make_engine(1, "draft_model", block_size=4)
    num_rows = []
    for _ in range(3):
        sequence = Sequence(make_request("a", list(range(2, 32))))
        drafter(engine).propose({sequence: 1})
        num_rows += [rows for rows, _ in drafter(engine).passes()]
        drafter(engine).ended(sequence)
        if len(num_rows) == 2:
            engine.reset_prefix_cache()
    assert num_rows == [30, 2, 30]


def test_ends_aborts_and_preemptions_give_its_blocks_back(
    make_engine: MakeEngine, make_request: MakeRequest
) -> None:
    engine = make_engine(3, "draft_model", block_size=4, num_gpu_blocks_override=24)
    for number in range(4):
        engine.add(make_request(str(number), [number + 2] * 10, max_tokens=60))
    for _ in range(400):
        if not engine.has_work:
            break
        engine.step()
        engine.check_invariants()
        if engine.stats.num_preemptions == 1:
            assert len(drafter(engine)._followers) <= engine.stats.num_running
            engine.abort("1")
    assert engine.stats.num_preemptions > 0
    assert num_held(engine) == 0
    assert not drafter(engine)._followers


def test_where_its_pool_is_full_less_is_drafted(make_engine: MakeEngine, make_request: MakeRequest) -> None:
    proposer = drafter(make_engine(4, "draft_model", block_size=4, num_gpu_blocks_override=4))
    first, second = (Sequence(make_request(name, [n] * n)) for name, n in (("a", 7), ("b", 3)))
    drafts = proposer.propose({first: 4, second: 4})
    assert (len(drafts[first]), len(drafts[second])) == (2, 4)
    proposer.ended(second)
    second = Sequence(make_request("c", [3] * 30))
    assert proposer.propose({second: 4}) == {}


@pytest.mark.parametrize("sees", [20, 33])
def test_C8_05_beyond_its_positions_a_draft_model_guesses_nothing(
    make_engine: MakeEngine, run: Run, tokens: Tokens, make_request: MakeRequest, plain: Engine,
    tmp_path: Path, sees: int,
) -> None:  # fmt: skip
    model = write_noisy_model(tmp_path, 0.0, max_model_len=sees)
    engine = make_engine(8, "draft_model", {"model": str(model)})
    requests = [make_request("a", [5, 6] * 7, max_tokens=40), make_request("b", [7] * 60, max_tokens=5)]
    assert tokens(run(engine, *requests)) == tokens(run(plain, *requests))
    assert 0 < engine.stats.num_draft_tokens <= sees - 14
    assert any(f"it sees {sees} tokens" in note for note in engine.info.notes)


def test_its_memory_is_counted_and_told(make_engine: MakeEngine, plain: Engine) -> None:
    space = 1 / 1024
    alone, both = (
        make_engine(num, "draft_model", SAME, cpu_kvcache_space=space, max_model_len=128) for num in (0, 4)
    )
    assert both.info.num_blocks == alone.info.num_blocks // 2
    (note,) = both.info.notes
    assert "the draft model tiny-random takes 1.0 MiB of weights and 0.5 MiB of KV pool" in note
    assert f"{both.info.num_blocks * both.info.block_size} tokens" in note
    assert both.info.speculation == (
        "draft_model, 4 tokens at most, whether or not they pay, likeliest tokens of tiny-random"
    )
    assert plain.info.notes == ()


def test_another_number_of_token_ids_is_refused(make_engine: MakeEngine, tmp_path: Path) -> None:
    model = write_noisy_model(tmp_path, 0.0, vocab_size=300)
    with pytest.raises(SpeculativeConfigError, match=r"has 300 token ids, but the target has 512; take"):
        make_engine(4, "draft_model", {"model": str(model)})


def test_a_quantization_that_is_not_built_is_refused(make_engine: MakeEngine) -> None:
    with pytest.raises(UnsupportedQuantizationError, match="'q99' is not built"):
        make_engine(4, "draft_model", SAME | {"quantization": "q99"})


def test_other_tokens_are_refused(make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary of the same size with two letters exchanged."""
    from reference_server.speculative.drafter import vocabulary

    class Exchanged:
        def __init__(self, *, exchanged: bool) -> None:
            self._exchanged = exchanged

        def token_bytes(self, token_id: int) -> bytes:
            return bytes([token_id % 256 ^ (self._exchanged and token_id in (100, 101))])

        def token_text(self, token_id: int) -> str:
            return self.token_bytes(token_id).decode()

    monkeypatch.setattr(
        vocabulary, "load_tokenizer", lambda model: Exchanged(exchanged=model != "tiny-random")
    )
    with pytest.raises(SpeculativeConfigError, match=r"token 100 is 'e' for the draft model .*, but 'd' for"):
        make_engine(4, "draft_model")


def test_another_seed_draws_other_weights(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    """The keys of the method; a draft model that knows nothing is rarely right, and changes nothing."""
    engine = make_engine(4, "draft_model", SAME | {"seed": 1})
    run(engine, make_request(max_tokens=30))
    assert sum(engine.stats.num_accepted_per_pos) < 0.2 * engine.stats.num_draft_tokens


def test_the_server_looks_for_it_where_it_looks_for_its_own_model(tmp_path: Path) -> None:
    drafting = {"method": "draft_model", "num_speculative_tokens": 4}
    for name, place in (("tiny-random", "tiny-random"), (f"{tmp_path}/.", str(tmp_path))):
        settings = ServerConfig(model="tiny-random", speculative_config=drafting | {"model": name})
        assert settings.to_engine_config().speculative_config == drafting | {"model": place}
    with pytest.raises(UnknownModelError, match="there is no model 'smollm3'"):
        ServerConfig(
            model="tiny-random", speculative_config=drafting | {"model": "smollm3"}
        ).to_engine_config()


BAD: list[tuple[dict[str, Any], str]] = [
    ({"model": ""}, "model is ''; it must name the model that drafts"),
    ({"model": 3}, "model is 3; it must name"),
    ({"draft_sample_method": "gumbel"}, "'gumbel'; it must be one of greedy, seeded, probabilistic"),
    ({"seed": -1}, "seed is -1; it must be a whole number from 0 on"),
    ({"colour": "red"}, "method draft_model has no key 'colour'"),
]


@pytest.mark.parametrize(("keys", "message"), BAD, ids=str)
def test_what_can_not_be_used_is_named(keys: dict[str, Any], message: str) -> None:
    from reference_server.speculative import speculative_config

    settings = {"method": "draft_model", "num_speculative_tokens": 4, "model": "tiny-random"}
    with pytest.raises(SpeculativeConfigError, match=message):
        speculative_config(settings | keys)
