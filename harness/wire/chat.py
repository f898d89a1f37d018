"""Chat completions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from harness.errors import EndpointError
from harness.wire import Delta, Endpoint, chunk
from harness.wire._body import streaming_body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scenarios.request import Arrival


class Wire(Endpoint):
    """``/chat/completions``: a plain prompt goes as one user turn."""

    path: ClassVar[str] = "/chat/completions"

    def body(self, arrival: Arrival, model: str) -> bytes:
        """See ``Endpoint``."""
        prompt = arrival.prompt
        if prompt.messages is not None:
            return streaming_body(arrival, model, {"messages": prompt.messages})
        if prompt.text is not None:
            return streaming_body(arrival, model, {"messages": [{"role": "user", "content": prompt.text}]})
        raise EndpointError("a prompt in token ids can't go to chat; use endpoint: completions")

    def decode(self, data: bytes) -> Delta:
        """See ``Endpoint``."""
        return chunk.decode(data)

    def decode_many(self, events: list[bytes]) -> Sequence[Delta | str]:
        """See ``Endpoint``."""
        return chunk.decode_many(events)
