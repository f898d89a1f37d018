"""The engine under storms of aborts and with far too little memory, on ``tiny-random`` in float32."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import psutil
import pytest
import scipy.stats

from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import Engine, load_engine
from reference_server.engine.request import EngineRequest, SamplingParams

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

NUM_STORM, MAX_LIVE, WARM = 10_000, 40, 1_000
NUM_TIMED = 500


def load(**settings: object) -> Engine:
    base = {"model": "tiny-random", "dtype": "float32", "device": "cpu", "cpu_threads": 1}
    return load_engine(EngineConfig(**(base | settings)))  # type: ignore[arg-type]  # settings by name


def request(name: str, prompt: list[int], max_tokens: int, salt: str | None = None) -> EngineRequest:
    sampling = SamplingParams(max_tokens=max_tokens, seed=0, temperature=0.0, ignore_eos=True)
    return EngineRequest(request_id=name, prompt_token_ids=prompt, sampling=sampling, cache_salt=salt)


def some_requests(num: int, max_len: int) -> list[EngineRequest]:
    """Half of them begin alike."""
    rng = random.Random(3)
    shared = [rng.randrange(2, 258) for _ in range(max_len // 2)]
    return [
        request(
            str(i),
            (shared if i % 2 else []) + [rng.randrange(2, 258) for _ in range(rng.randint(1, max_len // 2))],
            rng.randint(1, 24),
        )
        for i in range(num)
    ]


def solo(engine: Engine, requests: Iterable[EngineRequest]) -> dict[str, list[int]]:
    """Each request by itself."""
    return {r.request_id: drain(engine, [r])[r.request_id] for r in requests}


def drain(engine: Engine, requests: list[EngineRequest]) -> dict[str, list[int]]:
    answers: dict[str, list[int]] = {r.request_id: [] for r in requests}
    for item in requests:
        engine.add(item)
    deadline = time.monotonic() + 300
    while engine.has_work:
        assert time.monotonic() < deadline, "no end in sight"
        for output in engine.step():
            answers[output.request_id] += output.token_ids
    return answers


def test_S1_a_storm_of_aborts_leaves_nothing_behind_and_survivors_alone() -> None:
    engine = load(block_size=16, num_gpu_blocks_override=256)
    kinds = some_requests(50, 80)
    expected = solo(load(enable_prefix_caching=False), kinds)
    rng, process = random.Random(1), psutil.Process()
    live: dict[str, tuple[EngineRequest, list[int]]] = {}
    num_added = num_survivors = rss_warm = 0
    while num_added < NUM_STORM or live:
        while num_added < NUM_STORM and len(live) < MAX_LIVE:
            kind = rng.choice(kinds)
            name = f"{num_added}/{kind.request_id}"
            live[name] = (kind, [])
            engine.add(request(name, kind.prompt_token_ids, kind.sampling.max_tokens))
            num_added += 1
            rss_warm = process.memory_info().rss if num_added == WARM else rss_warm
        for output in engine.step():
            kind, answer = live[output.request_id]
            answer += output.token_ids
            if output.finish_reason:
                assert answer == expected[kind.request_id]
                num_survivors += 1
                del live[output.request_id]
        for name in rng.sample(sorted(live), min(len(live), rng.randint(0, 5))):
            assert engine.abort(name)
            del live[name]
    stats = engine.stats
    assert 0.3 * NUM_STORM < num_survivors < 0.7 * NUM_STORM
    assert (stats.num_running, stats.num_waiting, stats.num_free_blocks) == (0, 0, 256)
    assert process.memory_info().rss < 1.05 * rss_warm


@pytest.mark.parametrize("caching", [True, False])
def test_S2_with_a_quarter_of_the_memory_all_finish_and_say_the_same(caching: bool) -> None:
    requests = some_requests(200, 120)
    block_size, num_live = 4, 64
    needs = sorted(-(-(len(r.prompt_token_ids) + r.sampling.max_tokens) // block_size) for r in requests)
    squeezed = load(
        block_size=block_size,
        max_num_seqs=num_live,
        num_gpu_blocks_override=sum(needs[-num_live:]) // 4,
        enable_prefix_caching=caching,
    )
    answers = drain(squeezed, requests)
    assert squeezed.stats.num_preemptions > 0
    assert answers == drain(load(block_size=block_size, max_num_seqs=num_live), requests)


def test_H7_a_prompt_of_another_tenant_takes_as_long_as_one_that_nobody_sent() -> None:
    """CPU time of the first step, in turn; the two can't be told apart."""
    engine, rng = load(block_size=16, num_gpu_blocks_override=512), random.Random(2)
    secret = [rng.randrange(2, 258) for _ in range(200)]
    drain(engine, [request("victim", secret, 1, "victim")])
    times: dict[str, list[int]] = {"known to another": [], "unknown": [], "own": []}
    for number in range(NUM_TIMED):
        drain(engine, [request("victim", secret, 1, "victim")])
        unknown = [rng.randrange(2, 258) for _ in range(200)]
        tries = [("known to another", secret, f"spy {number}"), ("unknown", unknown, f"spy {number}")]
        for name, prompt, salt in (*rng.sample(tries, 2), ("own", secret, "victim")):
            engine.add(request(name, prompt, 1, salt))
            begin_ns = time.thread_time_ns()
            engine.step()
            times[name].append(time.thread_time_ns() - begin_ns)
    same = scipy.stats.mannwhitneyu(times["known to another"], times["unknown"])
    assert same.pvalue > 0.01
    assert scipy.stats.mannwhitneyu(times["own"], times["unknown"]).pvalue < 1e-6, "a hit would show"
