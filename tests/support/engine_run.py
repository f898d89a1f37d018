"""An engine that serves requests to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.engine.engine import Engine
    from reference_server.engine.request import EngineOutput, EngineRequest


def run_to_end(engine: Engine, *requests: EngineRequest) -> dict[str, list[EngineOutput]]:
    """Add requests and step to the end, checking the state after every step; outputs by request id."""
    outputs: dict[str, list[EngineOutput]] = {request.request_id: [] for request in requests}
    for request in requests:
        engine.add(request)
    for _ in range(100_000):
        if not engine.has_work:
            break
        for output in engine.step():
            outputs[output.request_id].append(output)
        engine.check_invariants()
    assert not engine.has_work
    return outputs
