"""Text without a model: common words in a seeded order, one word to a token."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_COMMON = Path(__file__).with_name("common_words.txt").read_text(encoding="ascii").split()

_VOCABULARY_SIZE = 1 << 16


class Vocabulary:
    """The words that answers are made of.

    Args:
        seed: Decides their order.

    Attributes:
        tokens: All of them, each with its leading space.
    """

    def __init__(self, seed: int) -> None:
        words = [f" {word}".encode() for word in _COMMON]
        self.tokens = random.Random(seed).choices(words, k=_VOCABULARY_SIZE)

    def text(self, position: int, num_tokens: int) -> bytes:
        """So many words from ``position`` on, each with its leading space; plain ASCII without quotes."""
        if num_tokens == 1:
            return self.tokens[position & (_VOCABULARY_SIZE - 1)]
        return b"".join(self.tokens[id_] for id_ in self.ids(position, num_tokens))

    def ids(self, position: int, num_tokens: int) -> list[int]:
        """The token ids of the same words."""
        return [(position + i) & (_VOCABULARY_SIZE - 1) for i in range(num_tokens)]


def count_prompt_tokens(prompt: object) -> int:
    """Words of a text, or the number of token ids."""
    if isinstance(prompt, str):
        return len(prompt.split())
    return len(prompt) if isinstance(prompt, list) else 0


def count_message_tokens(messages: Iterable[Mapping[str, Any]]) -> int:
    """Words in all texts of a conversation, those in content parts included."""
    return sum(_count_content(message.get("content")) for message in messages)


def _count_content(content: object) -> int:
    if isinstance(content, str):
        return len(content.split())
    parts = content if isinstance(content, list) else []
    return sum(len(str(part.get("text", "")).split()) for part in parts if isinstance(part, dict))
