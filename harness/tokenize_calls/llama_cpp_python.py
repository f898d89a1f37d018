"""The server of llama-cpp-python."""

from __future__ import annotations

from typing import Any

import msgspec

from harness.tokenize_calls import TokenizeCall


class _Reply(msgspec.Struct):
    count: int


class LlamaCppPythonCall(TokenizeCall):
    """Counts the token that begins a text, if the model has one."""

    servers = "llama-cpp-python"
    path = "/extras/tokenize/count"
    counts_special = True

    def body(self, text: str, model: str) -> dict[str, Any]:
        """See ``TokenizeCall``."""
        return {"model": model, "input": text}

    def count(self, reply: bytes) -> int:
        """See ``TokenizeCall``."""
        return msgspec.json.decode(reply, type=_Reply).count
