"""text-generation-inference."""

from __future__ import annotations

from typing import Any

import msgspec

from harness.tokenize_calls import TokenizeCall


class _Token(msgspec.Struct):
    id: int
    start: int
    stop: int


class TgiCall(TokenizeCall):
    """A list of tokens with their places in the text; one that has no place there is not of the text."""

    servers = "text-generation-inference"
    path = "/tokenize"

    def body(self, text: str, model: str) -> dict[str, Any]:
        """See ``TokenizeCall``."""
        del model
        return {"inputs": text}

    def count(self, reply: bytes) -> int:
        """See ``TokenizeCall``."""
        tokens = msgspec.json.decode(reply, type=list[_Token])
        return sum(token.stop > token.start for token in tokens)
