"""Requests that come, are computed a little and are given up, again and again."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.engine.engine import Engine
    from reference_server.engine.request import EngineRequest


def abort_storm(engine: Engine, requests: list[EngineRequest], num_blocks: int) -> None:
    """Ten rounds; after each of them all of the engine's blocks are free."""
    rng = random.Random(0)
    for round_number in range(10):
        for request in requests:
            engine.add(request)
        for _ in range(rng.randint(0, 12)):
            engine.step()
        for request in rng.sample(requests, len(requests)):
            engine.abort(request.request_id)
            engine.check_invariants()
        assert engine.stats.num_free_blocks == num_blocks, f"round {round_number}"
