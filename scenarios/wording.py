"""Texts made of the vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenarios.vocabulary import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.random import Generator


def distinct_texts(lengths: Iterable[int], rng: Generator) -> Iterator[str]:
    """A text of each length in words, in random words, that differ from their first word on.

    So that a prefix cache can't help: no first word is used again before all words of the vocabulary have
    been, and no first pair before all pairs have been.
    """
    words = [WORDS[place] for place in rng.permutation(len(WORDS))]
    for index, length in enumerate(lengths):
        round_, first = divmod(index, len(words))
        head = [words[first], words[(first + round_ + 1) % len(words)]]
        tail = rng.integers(len(words), size=max(length - 2, 0)).tolist()
        yield " ".join([*head, *(words[place] for place in tail)][:length])
