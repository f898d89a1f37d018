"""A choice gathered whole, for a reply that is no stream."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.api.choice import Delta
    from reference_server.api.logprobs import PlacedLogprob


@dataclasses.dataclass(slots=True)
class CollectedChoice:
    """All deltas of a choice."""

    index: int
    parts: list[str] = dataclasses.field(default_factory=list)
    token_ids: list[int] = dataclasses.field(default_factory=list)
    logprobs: list[PlacedLogprob] = dataclasses.field(default_factory=list)
    finish_reason: str | None = None
    stop_reason: str | int | None = None

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.parts)

    def add(self, delta: Delta) -> None:
        """Append a delta."""
        self.parts.append(delta.text)
        self.token_ids += delta.token_ids
        self.logprobs += delta.logprobs
        self.finish_reason, self.stop_reason = delta.finish_reason, delta.stop_reason
