"""Server-sent events of a stream, rendered from bytes prepared once per request."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reference_server.api.choice import Delta
    from reference_server.api.logprobs import PlacedLogprob
    from reference_server.api.usage import Usage

DONE = b"data: [DONE]\n\n"

encode = msgspec.json.Encoder().encode


@dataclasses.dataclass(frozen=True, slots=True)
class ChunkShape:
    """How a chunk of an endpoint looks.

    Attributes:
        object: Its ``object``.
        before_text: JSON from the choice's index to its text.
        after_text: JSON from the text to the log-probabilities.
        role: JSON of the delta that opens a choice; None where there is none.
        always_stop_reason: ``stop_reason`` stands in every chunk, not in the last only.
    """

    object: str
    before_text: bytes
    after_text: bytes
    role: bytes | None
    always_stop_reason: bool


CHAT_CHUNK = ChunkShape(
    object="chat.completion.chunk",
    before_text=b',"delta":{"content":',
    after_text=b'},"logprobs":',
    role=b',"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null',
    always_stop_reason=False,
)
COMPLETION_CHUNK = ChunkShape(
    object="text_completion",
    before_text=b',"text":',
    after_text=b',"logprobs":',
    role=None,
    always_stop_reason=True,
)


class Frames:
    """The frames of one stream.

    Args:
        shape: The endpoint's.
        head: ``id``, ``created``, ``model`` of the answer.
        fingerprint: Rides on the last frame.
        num_choices: Of the answer.
        logprobs: Gives the endpoint's form of log-probabilities; None if not asked for.
        with_token_ids: Chunks carry their token ids.
    """

    def __init__(
        self,
        shape: ChunkShape,
        head: dict[str, Any],
        fingerprint: str,
        num_choices: int,
        logprobs: Callable[[Sequence[PlacedLogprob]], dict[str, Any]] | None = None,
        *,
        with_token_ids: bool = False,
    ) -> None:
        start = encode({"id": head["id"], "object": shape.object, **head})[:-1]
        self._start = b"data: " + start + b',"choices":['
        self._shape = shape
        self._fingerprint = b',"system_fingerprint":' + encode(fingerprint)
        self._choices = [b'{"index":%d' % index for index in range(num_choices)]
        self._texts = [self._start + choice + shape.before_text for choice in self._choices]
        self._plain_end = shape.after_text + b'null,"finish_reason":null'
        if shape.always_stop_reason:
            self._plain_end += b',"stop_reason":null'
        self._logprobs = logprobs
        self._with_token_ids = with_token_ids

    def opening(self, usage: Usage | None) -> bytes:
        """The role of each choice, in the endpoints that have roles."""
        if self._shape.role is None:
            return b""
        end = self._end(usage)
        return b"".join(self._start + choice + self._shape.role + end for choice in self._choices)

    def delta(self, delta: Delta, usage: Usage | None) -> bytes:
        """A chunk; ``usage`` is the running one where it was asked for."""
        text = self._texts[delta.index] + encode(delta.text)
        if delta.finish_reason is None and self._logprobs is None and not self._with_token_ids:
            return text + self._plain_end + self._end(usage)
        return text + self._full_end(delta) + self._end(usage)

    def closing(self, usage: Usage, metrics: dict[str, float | None] | None) -> bytes:
        """The chunk without choices that carries the usage."""
        fields = b'],"usage":' + encode(usage) + b',"metrics":' + encode(metrics)
        return self._start + fields + self._fingerprint + b"}\n\n"

    def _full_end(self, delta: Delta) -> bytes:
        logprobs = self._logprobs(delta.logprobs) if self._logprobs is not None else None
        parts = [self._shape.after_text, encode(logprobs), b',"finish_reason":', encode(delta.finish_reason)]
        if delta.finish_reason is not None or self._shape.always_stop_reason:
            parts += [b',"stop_reason":', encode(delta.stop_reason)]
        if self._with_token_ids:
            parts += [b',"token_ids":', encode(delta.token_ids)]
        return b"".join(parts)

    @staticmethod
    def _end(usage: Usage | None) -> bytes:
        return b"}]}\n\n" if usage is None else b'}],"usage":' + encode(usage) + b"}\n\n"


def error_frame(body: dict[str, Any]) -> bytes:
    """An error after the reply has begun."""
    return b"data: " + encode(body) + b"\n\n"
