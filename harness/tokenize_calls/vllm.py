"""vLLM, SGLang, and the bundled server."""

from __future__ import annotations

from typing import Any

import msgspec

from harness.tokenize_calls import TokenizeCall


class _Reply(msgspec.Struct):
    count: int


class VllmCall(TokenizeCall):
    """The text alone; without special tokens where asked for."""

    servers = "vLLM or SGLang"
    path = "/tokenize"

    def body(self, text: str, model: str) -> dict[str, Any]:
        """See ``TokenizeCall``."""
        return {"model": model, "prompt": text, "add_special_tokens": False}

    def count(self, reply: bytes) -> int:
        """See ``TokenizeCall``."""
        return msgspec.json.decode(reply, type=_Reply).count
