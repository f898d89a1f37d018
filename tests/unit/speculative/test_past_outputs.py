"""What ended requests leave to later ones in an engine: steps that are saved, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest

from reference_server.engine.draft_lengths import WholeDrafts
from reference_server.engine.drafting import Drafting
from reference_server.engine.request import EngineOutput, EngineRequest
from reference_server.speculative import Proposer

if TYPE_CHECKING:
    from reference_server.engine.engine import Engine
    from reference_server.engine.sequence import Sequence

MakeRequest = Callable[..., EngineRequest]
MakeEngine = Callable[..., "Engine"]
Answers = dict[str, list[EngineOutput]]
Run = Callable[..., Answers]
Tokens = Callable[[Answers], dict[str, list[int]]]

NUM_DRAFTED, NUM_TOKENS = 8, 60
FREE = {"temperature": 1.0, "max_tokens": NUM_TOKENS}
"""A random model at this temperature repeats nothing by itself."""


def num_steps(engine: Engine, run: Run, *requests: EngineRequest) -> int:
    before = engine.stats.num_steps
    run(engine, *requests)
    return engine.stats.num_steps - before


@pytest.fixture
def requests(make_request: MakeRequest) -> list[EngineRequest]:
    """Eight that differ."""
    return [make_request(str(n), [40 + n, *range(60, 70)], seed=n, **FREE) for n in range(8)]


@pytest.mark.parametrize("batch", [1, 8])
def test_a_repeated_request_takes_far_fewer_steps(
    make_engine: MakeEngine, run: Run, tokens: Tokens, requests: list[EngineRequest], batch: int
) -> None:
    """About one for nine tokens, whoever answers beside it; prompt lookup finds nothing to repeat."""
    engine, plain = make_engine(NUM_DRAFTED, "suffix"), make_engine(NUM_DRAFTED, "ngram")
    first = num_steps(engine, run, *requests[:batch])
    assert first > 0.8 * NUM_TOKENS
    assert num_steps(engine, run, *requests[:batch]) < 0.2 * NUM_TOKENS
    num_steps(plain, run, *requests[:batch])
    assert num_steps(plain, run, *requests[:batch]) > 0.8 * NUM_TOKENS
    assert tokens(run(engine, *requests[:batch])) == tokens(run(plain, *requests[:batch]))


def test_another_answer_to_a_prompt_that_was_answered_is_its_own(
    make_engine: MakeEngine, run: Run, tokens: Tokens, make_request: MakeRequest
) -> None:
    """Same prompt, other seeds: what others got is guessed, refused, and changes no token."""
    requests = [make_request(str(n), list(range(60, 70)), seed=n, **FREE) for n in range(3)]
    engine, plain = make_engine(NUM_DRAFTED, "suffix"), make_engine()
    for request in requests:
        assert tokens(run(engine, request)) == tokens(run(plain, request))
    assert engine.stats.num_drafts > 10


def test_with_a_salt_nothing_is_learnt_from_others(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    engine = make_engine(NUM_DRAFTED, "suffix")
    request = make_request("a", list(range(60, 70)), **FREE)
    salted = EngineRequest(
        request_id="b", prompt_token_ids=request.prompt_token_ids, sampling=request.sampling, cache_salt="x"
    )
    for first, second in ((request, salted), (salted, salted)):
        num_steps(engine, run, first)
        assert num_steps(engine, run, second) > 0.8 * NUM_TOKENS


def test_what_was_aborted_is_remembered_as_far_as_it_went(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    engine = make_engine(NUM_DRAFTED, "suffix")
    request = make_request("a", list(range(60, 70)), **FREE)
    engine.add(request)
    for _ in range(30):
        engine.step()
    engine.abort("a")
    assert 30 < num_steps(engine, run, request) < 42


class Listening(Proposer):
    """Counts how often the end of each sequence was told."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.lengths: dict[str, int] = {}

    def propose(self, limits: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:  # noqa: ARG002  # listens only
        """Nothing."""
        return {}

    def ended(self, sequence: Sequence) -> None:
        """Count."""
        self.ends[sequence.request_id] += 1
        self.lengths[sequence.request_id] = sequence.num_output_tokens


def test_every_end_is_told_once_with_all_tokens_whether_finished_aborted_or_preempted_before(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    engine, listening = make_engine(4, block_size=4, num_gpu_blocks_override=24, max_num_seqs=4), Listening()
    engine._scheduler._drafting = Drafting(listening, WholeDrafts(), 4, engine.info.max_model_len)
    for name in ("running", "waiting"):
        engine.add(make_request(name, max_tokens=30))
    engine.step()
    for name in ("running", "waiting", "unknown"):
        engine.abort(name)
    finished = [make_request(str(n), [5 + n] * 7, max_tokens=20 + n) for n in range(6)]
    answers = run(engine, *finished)
    assert engine.stats.num_preemptions > 0
    assert listening.ends == Counter(["running", "waiting", *answers])
    assert all(listening.lengths[str(n)] == 20 + n for n in range(6))
    assert engine.abort("0") is None
    assert listening.ends["0"] == 1
