"""Text completions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from harness.errors import EndpointError
from harness.wire import Delta, Endpoint, chunk
from harness.wire._body import streaming_body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scenarios.request import Arrival


class Wire(Endpoint):
    """``/completions``: a text or token ids, without any chat template."""

    path: ClassVar[str] = "/completions"

    def body(self, arrival: Arrival, model: str) -> bytes:
        """See ``Endpoint``."""
        prompt = arrival.prompt
        asked = prompt.text if prompt.text is not None else prompt.token_ids
        if asked is None:
            raise EndpointError("a conversation can't go to completions; use endpoint: chat")
        return streaming_body(arrival, model, {"prompt": asked})

    def decode(self, data: bytes) -> Delta:
        """See ``Endpoint``."""
        return chunk.decode(data)

    def decode_many(self, events: list[bytes]) -> Sequence[Delta | str]:
        """See ``Endpoint``."""
        return chunk.decode_many(events)
