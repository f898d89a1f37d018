"""llama.cpp's own server."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from harness.tokenize_calls import TokenizeCall


class _Reply(msgspec.Struct):
    tokens: Annotated[list[int], msgspec.Meta(min_length=1)]


class LlamaCppCall(TokenizeCall):
    """The text alone. A server that doesn't know ``content`` would give an empty list."""

    servers = "llama.cpp"
    path = "/tokenize"

    def body(self, text: str, model: str) -> dict[str, Any]:
        """See ``TokenizeCall``."""
        del model
        return {"content": text, "add_special": False}

    def count(self, reply: bytes) -> int:
        """See ``TokenizeCall``."""
        return len(msgspec.json.decode(reply, type=_Reply).tokens)
