"""Prompts that are given: their lengths as the scenario's tokenizer counts them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from msgspec import structs

from scenarios.contents import asked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scenarios.request import Prompt
    from scenarios.tokenizers import TokenCounter


_CHARACTERS_PER_TOKEN: Final = 4


def in_good_time(texts: Sequence[str], counter: TokenCounter) -> bool:
    """Whether so many texts, of that size, can be counted before a run."""
    num_tokens = sum(map(len, texts)) / _CHARACTERS_PER_TOKEN
    return len(texts) <= counter.max_texts and num_tokens <= counter.max_tokens


def with_token_counts(prompts: Sequence[Prompt], counter: TokenCounter | None) -> Sequence[Prompt]:
    """The prompts with their lengths; as they are where nobody counts, or there are too many to count.

    Raises:
        ScenarioError: They can't be counted.
    """
    if counter is None:
        return prompts
    texts = list(dict.fromkeys(itertools.chain(*map(asked, prompts))))
    if not in_good_time(texts, counter):
        return prompts
    counts = dict(zip(texts, counter.count(texts), strict=True))
    return [structs.replace(each, num_tokens=sum(map(counts.__getitem__, asked(each)))) for each in prompts]
