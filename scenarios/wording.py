"""Texts made of the vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from scenarios.vocabulary import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.random import Generator

_WORDS: Final = np.array(WORDS, dtype=object)


def distinct_texts(lengths: Iterable[int], rng: Generator) -> Iterator[str]:
    """A text of each length in words, in random words, that differ from their first word on.

    So that a prefix cache can't help: no first word is used again before all words of the vocabulary have
    been, and no first pair before all pairs have been.
    """
    words = rng.permutation(_WORDS).tolist()
    for index, length in enumerate(lengths):
        round_, first = divmod(index, len(words))
        head = [words[first], words[(first + round_ + 1) % len(words)]]
        yield " ".join([*head, *random_words(max(length - 2, 0), rng)][:length])


def random_words(count: int, rng: Generator) -> list[str]:
    """``count`` words, each drawn from the whole vocabulary."""
    words: list[str] = _WORDS[rng.integers(len(_WORDS), size=count)].tolist()
    return words
