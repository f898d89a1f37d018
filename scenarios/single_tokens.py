"""The words that are one token each in somebody's vocabulary, so that texts of them have exact lengths."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from scenarios.errors import ScenarioError
from scenarios.vocabulary import WORDS
from scenarios.wording import Wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scenarios.tokenizers import TokenCounter

_ENOUGH: Final = 16


@functools.lru_cache(maxsize=4)
def wording_of(counter: TokenCounter) -> Wording:
    """What makes texts of exact length in the tokens that ``counter`` counts.

    Of whole words where enough of ours are one token each, with and without a blank before them; of
    characters where each of those is one token.

    Raises:
        ScenarioError: Neither holds.
    """
    words = _single(WORDS, counter)
    if len(words) >= _ENOUGH:
        return Wording(words, in_tokens=True)
    sample = " ".join(WORDS)
    if counter.count([sample]) == [len(sample)]:
        return Wording(in_tokens=True, by_character=True)
    raise ScenarioError(
        f"tokenizer: {counter.name} has one token for only {len(words)} of our {len(WORDS)} words, too few "
        "to make prompts of exact lengths; write prompts: {unit: words}"
    )


def _single(words: Sequence[str], counter: TokenCounter) -> list[str]:
    counts = counter.count(words)
    return _single_inside([word for word, count in zip(words, counts, strict=True) if count == 1], counter)


def _single_inside(words: list[str], counter: TokenCounter) -> list[str]:
    """Those that are one token inside a text too. Halves what has too many until it is right or empty."""
    good: list[str] = []
    suspects = [words]
    while suspects := [each for each in suspects if len(each) > 0]:
        counts = counter.count([" ".join(["a", *each]) for each in suspects])
        halves = []
        for each, count in zip(suspects, counts, strict=True):
            if count == len(each) + 1:
                good += each
            elif len(each) > 1:
                middle = len(each) // 2
                halves += [each[:middle], each[middle:]]
        suspects = halves
    return good
