"""Length of the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import ClientError, Missing, RequestMetric, Unit

if TYPE_CHECKING:
    from harness.record import Record

_UNKNOWN = Missing("neither the server nor the source of the prompts says how long a prompt is")


class PromptTokens(RequestMetric):
    """As usage says, else as the prompt's source says."""

    unit = Unit.TOKENS
    client_error = ClientError.NONE

    def value(self, record: Record, start_ns: int) -> float | Missing:
        """In tokens."""
        del start_ns
        return _UNKNOWN if record.prompt_tokens is None else record.prompt_tokens
