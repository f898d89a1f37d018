"""Who is let in, counted before work is done for it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from reference_server.api.admission import Admission
from reference_server.api.errors import ApiError
from reference_server.engine.request import EngineStats


def admission(limit: int | None, num_waiting: int = 0, max_num_seqs: int = 4) -> Admission:
    return Admission(max_num_seqs, limit, lambda: EngineStats(num_waiting=num_waiting))


def fill(door: Admission, num_sequences: int, stack: contextlib.ExitStack) -> None:
    stack.enter_context(door.enter(num_sequences))


def test_as_many_as_run_and_may_wait_are_let_in() -> None:
    door = admission(limit=2)
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            fill(door, 1, stack)
        with pytest.raises(ApiError) as refused:
            fill(door, 1, stack)
        assert (refused.value.status, refused.value.headers["retry-after"]) == (503, "1")
        assert door.num_rejections == 1
    assert (door.num_requests, door.num_sequences) == (0, 0)
    fill(door, 1, contextlib.ExitStack())


def test_choices_count_one_by_one() -> None:
    door = admission(limit=0)
    with contextlib.ExitStack() as stack:
        fill(door, 3, stack)
        with pytest.raises(ApiError):
            fill(door, 2, stack)
        fill(door, 1, stack)


def test_a_full_queue_of_the_engine_closes_the_door() -> None:
    """The engine may hold fewer sequences than max_num_seqs when KV blocks are short."""
    door = admission(limit=2, num_waiting=2)
    with contextlib.ExitStack() as stack:
        fill(door, 1, stack)
        with pytest.raises(ApiError):
            fill(door, 1, stack)


def test_a_request_alone_is_always_let_in() -> None:
    with admission(limit=0).enter(100):
        pass


def test_without_a_limit_all_are_let_in() -> None:
    door = admission(limit=None, num_waiting=10**6)
    with contextlib.ExitStack() as stack:
        for _ in range(1000):
            fill(door, 1, stack)


def test_a_place_is_given_back_when_work_fails() -> None:
    door = admission(limit=0)
    with pytest.raises(ZeroDivisionError), door.enter(1):
        raise ZeroDivisionError
    assert door.num_sequences == 0


async def test_draining_refuses_and_waits_for_those_inside() -> None:
    door = admission(limit=None)
    with contextlib.ExitStack() as stack:
        fill(door, 1, stack)
        assert not await door.drain(0.01)
        with pytest.raises(ApiError, match="being stopped"):
            fill(door, 1, stack)
        draining = asyncio.create_task(door.drain(5))
        await asyncio.sleep(0)
    assert await draining


@pytest.mark.asyncio(loop_scope="module")
async def test_a_burst_gets_503_and_retry_after_and_the_rest_is_served(start_api: Any) -> None:
    api = await start_api(max_num_seqs=2, max_num_queued_reqs=3, engine={"step_s": 0.02})
    fields = {"prompt": "a", "max_tokens": 20, "ignore_eos": True}
    replies = await asyncio.gather(*(api.post("/v1/completions", **fields) for _ in range(20)))
    statuses = sorted(reply.status_code for reply in replies)
    assert statuses == [200] * 5 + [503] * 15
    refused = next(reply for reply in replies if reply.status_code == 503)
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["error"]["type"] == "ServiceUnavailableError"
    metrics = (await api.http.get("/metrics")).text
    assert 'admission_rejections_total{model_name="echo",reason="max_num_queued_reqs"} 15.0' in metrics
