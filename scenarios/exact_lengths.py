"""Made-up prompts are encoded again before the load: each is as long as it should be, or is told of."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from scenarios import conversation
from scenarios.contents import asked, contents, replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scenarios.prompts import PromptStream
    from scenarios.request import Prompt
    from scenarios.tokenizers import TokenCounter
    from scenarios.wording import Wording

_NUM_TRIES: Final = 4
_NUM_UNKNOWN: Final = 1_000
"""Prompts that are looked at where nobody knows how many will be sent."""


class _Checked(msgspec.Struct):
    """Texts as made, with what became of them.

    Attributes:
        texts: As they are sent.
        lengths: Theirs, as counted.
        misses: How far each is off that has not the length asked for.
    """

    texts: dict[str, str]
    lengths: dict[str, int]
    misses: dict[str, int]


def check(
    stream: PromptStream, counter: TokenCounter, wanted: int | None, num_requests: int | None
) -> PromptStream:
    """Encode the prompts of a stream again, and mend those that have another length than was asked for.

    As many as ``counter`` can do in good time. What comes after them is made of the same words.

    Args:
        stream: Made-up prompts, with their wording.
        counter: Counts.
        wanted: How many prompts will be sent at the most; None where that is not known.
        num_requests: How many requests they will make, later turns counted; None likewise.
    """
    assert stream.wording is not None
    limit = _NUM_UNKNOWN if wanted is None else wanted
    needed = _until(num_requests, itertools.islice(stream.prompts, limit))
    first = list(_in_good_time(needed, stream.wording, counter))
    checked = _mend(dict.fromkeys(itertools.chain(*map(contents, first))), stream.wording, counter)
    is_all = wanted is not None and len(first) >= min(wanted, stream.num_prompts or wanted)
    return structs.replace(
        stream,
        prompts=itertools.chain(_told(first, checked), _made(stream.prompts, stream.wording)),
        notes=(*stream.notes, *_notes(first, checked, counter, is_all)),
    )


def _until(num_requests: int | None, prompts: Iterable[Prompt]) -> Iterator[Prompt]:
    """Those that it takes for so many requests, if each turn has its answer."""
    num = 0
    for prompt in prompts:
        yield prompt
        num += 1 + len(prompt.follow_ups)
        if num_requests is not None and num >= num_requests:
            return


def _in_good_time(prompts: Iterable[Prompt], wording: Wording, counter: TokenCounter) -> Iterator[Prompt]:
    num_tokens = num_texts = 0
    for prompt in prompts:
        yield prompt
        lengths = [wording.length(text) for text in contents(prompt)]
        num_tokens, num_texts = num_tokens + sum(lengths), num_texts + len(lengths)
        if num_tokens >= counter.max_tokens or num_texts >= counter.max_texts:
            return


def _mend(texts: Iterable[str], wording: Wording, counter: TokenCounter) -> _Checked:
    now = {text: text for text in texts}
    wanted = {text: wording.length(text) for text in now}
    checked = _Checked(now, {}, {})
    suspects = list(now)
    for tries in range(_NUM_TRIES):
        counts = counter.count([now[text] for text in suspects])
        checked.lengths.update(zip(suspects, counts, strict=True))
        off = {text: checked.lengths[text] - wanted[text] for text in suspects}
        checked.misses = {text: by for text, by in off.items() if by}
        if tries < _NUM_TRIES - 1:
            now.update({text: _corrected(now[text], by, wording) for text, by in checked.misses.items()})
        suspects = list(checked.misses)
    return checked


def _corrected(text: str, too_long_by: int, wording: Wording) -> str:
    if too_long_by < 0:
        return wording.lengthen(text, -too_long_by)
    return wording.shorten(text, max(1, wording.length(text) - too_long_by))


def _told(prompts: list[Prompt], checked: _Checked) -> Iterator[Prompt]:
    for prompt in prompts:
        num_tokens = sum(checked.lengths[text] for text in asked(prompt))
        yield structs.replace(replaced(prompt, checked.texts.__getitem__), num_tokens=num_tokens)


def _made(prompts: Iterator[Prompt], wording: Wording) -> Iterator[Prompt]:
    for prompt in prompts:
        yield structs.replace(prompt, num_tokens=sum(map(wording.length, asked(prompt))))


def _notes(first: list[Prompt], checked: _Checked, counter: TokenCounter, is_all: bool) -> Iterator[str]:
    farthest = (max(abs(checked.misses.get(text, 0)) for text in contents(prompt)) for prompt in first)
    misses = [by for by in farthest if by]
    how_many = f"all {_what(first)}" if is_all else f"the first {_what(first)}"
    found = f"{len(misses)} of them miss their length by up to {max(misses)}" if misses else "all are exact"
    later = "" if is_all else "; later ones are made of the same words"
    yield (
        f"prompt lengths are in tokens, counted by {counter.name}, without what a chat template adds: "
        f"{how_many} were encoded again before the load, {found}{later}"
    )


def _what(prompts: list[Prompt]) -> str:
    num_turns = conversation.num_requests(prompts)
    if num_turns == len(prompts):
        return f"{len(prompts)} prompts"
    return f"{len(prompts)} conversations ({num_turns} turns)"
