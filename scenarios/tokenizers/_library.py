"""The ``tokenizers`` library, which is needed only where a scenario names a tokenizer file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenarios.errors import ScenarioError
from scenarios.tokenizers import TokenCounter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    import tokenizers

_BATCH = 256
_FEW = 4
"""Fewer are not worth waking other threads for, least of all in the middle of a run."""


class LibraryCounter(TokenCounter):
    """Counts with a tokenizer of the library, many texts at once on all cores.

    Args:
        library: Does the encoding.
        name: See ``TokenCounter``.
    """

    def __init__(self, library: tokenizers.Tokenizer, name: str) -> None:
        library.no_truncation()
        library.no_padding()
        self._library = library
        self.name = name

    def _encode(self, text: str) -> tokenizers.Encoding:
        return self._library.encode(_well_formed(text), add_special_tokens=False)

    def count(self, texts: Sequence[str]) -> list[int]:
        """See ``TokenCounter``."""
        if len(texts) < _FEW:
            return [len(self._encode(text).ids) for text in texts]
        counts: list[int] = []
        for begin in range(0, len(texts), _BATCH):
            batch = [_well_formed(text) for text in texts[begin : begin + _BATCH]]
            encoded = self._library.encode_batch_fast(batch, add_special_tokens=False)
            counts += [len(each.ids) for each in encoded]
        return counts


def library() -> ModuleType:
    """The library.

    Raises:
        ScenarioError: It isn't installed.
    """
    try:
        import tokenizers
    except ImportError as error:
        raise ScenarioError(
            "tokenizer: a tokenizer file needs the tokenizers library: pip install 'tokenpace[tokenizer]'; "
            "or count by the server itself: tokenizer: server"
        ) from error
    return tokenizers


def _well_formed(text: str) -> str:
    """Lone surrogates, which no tokenizer takes, replaced by U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
