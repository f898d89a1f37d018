"""Tokenizers that lie in a file: exact lengths of prompts and answers without asking a server.

A format is one file of this folder with two functions; formats are tried in the order of their names::

    def accepts(path: Path) -> bool: ...

    def load(path: Path) -> tokenizers.Tokenizer: ...

Nothing is ever fetched: a name that is no path on this machine is refused.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Protocol, cast

from scenarios.errors import ScenarioError
from scenarios.extensions import extension_names, load_extension

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import tokenizers


class Format(Protocol):
    """A module of this folder."""

    def accepts(self, path: Path) -> bool:
        """Whether it is a file, or a folder, of this format."""

    def load(self, path: Path) -> tokenizers.Tokenizer:
        """Read it.

        Raises:
            ScenarioError: It is broken, or of a kind that is not supported.
        """


class TokenCounter(ABC):
    """Counts the tokens of texts.

    Attributes:
        name: As a report calls it: ``the tokenizer of model.gguf``.
        max_tokens: So many tokens are counted in good time before a run.
        max_texts: Likewise so many texts.
    """

    name: str
    max_tokens: ClassVar[int] = 1_000_000
    max_texts: ClassVar[int] = 100_000

    @abstractmethod
    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as it stands: nothing is put before or behind it.

        Raises:
            ScenarioError: It can't be counted. The message says why.
        """


class WordCounter(TokenCounter):
    """Stands in for a tokenizer where lengths don't matter: every word is a token."""

    name = "words"
    max_tokens = 0

    def count(self, texts: Sequence[str]) -> list[int]:
        """See ``TokenCounter``."""
        return [len(text.split()) for text in texts]


@functools.cache
def open_tokenizer(path: Path) -> TokenCounter:
    """The tokenizer at that path: a ``tokenizer.json``, a folder that holds one, or a GGUF file.

    Raises:
        ScenarioError: It is none of these, is of a kind that is not supported, or the library is missing.
    """
    for module in _formats():
        if module.accepts(path):
            from scenarios.tokenizers._library import LibraryCounter

            return LibraryCounter(module.load(path), f"the tokenizer of {path.name}")
    raise ScenarioError(
        f"tokenizer: {path} is no tokenizer; name a tokenizer.json, a folder that holds one, or a .gguf file"
    )


def _formats() -> list[Format]:
    return [cast("Format", load_extension(__name__, name)) for name in extension_names(__name__)]
