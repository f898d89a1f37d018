"""Responses: OpenAI's successor of chat completions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from harness.errors import EndpointError
from harness.wire import Delta, Endpoint, response_event

if TYPE_CHECKING:
    from scenarios.request import Arrival

_encoder = msgspec.json.Encoder()


class Wire(Endpoint):
    """``/responses``: usage comes unasked with the last event, and the output limit has another name."""

    path: ClassVar[str] = "/responses"
    end_marks: ClassVar[tuple[bytes, ...]] = (b"}}\n\n", b'd"}\n\n', b'.incomplete"}\n\n', b"}}\r\n\r\n")

    def body(self, arrival: Arrival, model: str) -> bytes:
        """See ``Endpoint``."""
        prompt = arrival.prompt
        asked = prompt.text if prompt.text is not None else prompt.messages
        if asked is None:
            raise EndpointError("a prompt in token ids can't go to responses; use endpoint: completions")
        return _encoder.encode(
            {"model": model, "input": asked, "stream": True, **_renamed(arrival.sampling)},
        )

    def decode(self, data: bytes) -> Delta:
        """See ``Endpoint``."""
        return response_event.decode(data)


def _renamed(sampling: dict[str, Any]) -> dict[str, Any]:
    return {"max_output_tokens" if key == "max_tokens" else key: each for key, each in sampling.items()}
