"""A step that the engine had begun when it was closed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from reference_server.engine.loop_client import LoopClient
from reference_server.engine.messages import Command, Step
from reference_server.engine.request import EngineOutput, EngineStats

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.request import EngineRequest


class NoLoop(LoopClient):
    """A client whose replies the test makes up."""

    async def _launch(self) -> None:
        pass

    def _post(self, command: Command) -> None:
        pass

    async def close(self) -> None:
        """End as the real ones begin to."""
        self._close_streams()

    def reply(self, *token_ids: int) -> None:
        """As the loop would."""
        output = EngineOutput(request_id="r", token_ids=list(token_ids))
        self._receive(Step([output], EngineStats()))


async def test_C7_06_a_late_step_does_not_hide_the_end_of_a_stream(
    engine_request: Callable[..., EngineRequest],
) -> None:
    client, request = NoLoop(), engine_request("r")

    async def read() -> list[EngineOutput]:
        return [output async for output in client.generate(request)]

    reading = asyncio.create_task(read())
    await asyncio.sleep(0)
    client.reply(5)
    await client.close()
    client.reply(6)
    seen = await reading
    assert [token for output in seen for token in output.token_ids] == [5]
    assert seen[-1].finish_reason == "abort"
