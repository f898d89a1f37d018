"""Made-up texts of exact length: in words, or in tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scenarios.vocabulary import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.random import Generator

_SHORTEST_WORD: Final = 3
"""Characters of a word with the blank before it, at the least."""


class Wording:
    """Makes texts of random words, each of which has length 1.

    Args:
        words: The vocabulary.
        in_tokens: Length 1 is one token of the scenario's tokenizer.
        by_character: Every character has length 1, and not every word.

    Attributes:
        in_tokens: As given.
    """

    def __init__(
        self, words: Sequence[str] = WORDS, *, in_tokens: bool = False, by_character: bool = False
    ) -> None:
        self.in_tokens = in_tokens
        self._words: np.ndarray[Any, np.dtype[np.object_]] = np.array(words, dtype=object)
        self._by_character = by_character

    def distinct(self, lengths: Iterable[int], rng: Generator) -> Iterator[str]:
        """A text of each length, in random words, that differ from their first word on.

        So that a prefix cache can't help: no first word is used again before all words of the vocabulary
        have been, and no first pair before all pairs have been.
        """
        words = rng.permutation(self._words).tolist()
        for index, length in enumerate(lengths):
            round_, first = divmod(index, len(words))
            head = [words[first], words[(first + round_ + 1) % len(words)]]
            rest = self._draw(max(self._num_words(length) - 2, 0), rng)
            yield self._text([*head, *rest], length)

    def random(self, length: int, rng: Generator) -> str:
        """A text of that length, each word drawn from the whole vocabulary."""
        return self._text(self._draw(self._num_words(length), rng), length)

    def join(self, texts: Iterable[str]) -> str:
        """One text, as long as all of them together."""
        return ("" if self._by_character else " ").join(texts)

    def shorten(self, text: str, length: int) -> str:
        """The beginning of ``text``, so long."""
        if self._by_character:
            return text[: max(length - 1, 0)] + text[length - 1 : length].replace(" ", "s")
        return " ".join(text.split(" ")[:length])

    def lengthen(self, text: str, by: int) -> str:
        """``text`` and so much more behind it."""
        more = " ".join(self._words[np.arange(self._num_words(by)) % len(self._words)])
        return self.join([text, self.shorten(more, by)])

    def length(self, text: str) -> int:
        """Of a text that was made here."""
        return len(text) if self._by_character else text.count(" ") + 1

    def _text(self, words: list[str], length: int) -> str:
        """The beginning of at least as many words."""
        text = " ".join(words[:length])
        return self.shorten(text, length) if self._by_character else text

    def _num_words(self, length: int) -> int:
        """So many words make at least that length."""
        return length // _SHORTEST_WORD + 2 if self._by_character else length

    def _draw(self, count: int, rng: Generator) -> list[str]:
        words: list[str] = self._words[rng.integers(len(self._words), size=count)].tolist()
        return words


IN_WORDS: Final = Wording()
