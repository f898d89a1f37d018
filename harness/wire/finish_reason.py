"""Why a server says that it ended an answer, and which of its reasons are failures."""

from __future__ import annotations

from typing import Final

FAILURES: Final = frozenset({"error", "abort", "aborted", "cancelled", "canceled", "timeout"})
"""The server gave the answer up, in the words of vLLM, SGLang, TensorRT-LLM and gateways."""


def worse(before: str | None, now: str | None) -> str | None:
    """The reason that holds for an answer that has ended before and ends again, as one of several choices."""
    return before if now is None or (before in FAILURES and now not in FAILURES) else now
