"""How long the replies of a data set are: limits of the answers that are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from scenarios.counted_prompts import in_good_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scenarios.tokenizers import TokenCounter


class ReplyLengths(msgspec.Struct, frozen=True):
    """Lengths by text.

    Attributes:
        lengths: At least 1 each.
        unit: ``tokens``, or ``words`` where nobody counts tokens or the replies are too many for that.
    """

    lengths: dict[str, int]
    unit: str

    def limit(self, reply: str | None) -> int | None:
        """``max_tokens`` of a request whose reply in the data is that; None where there is none."""
        return None if reply is None else self.lengths[reply]


def reply_lengths(replies: Iterable[str], counter: TokenCounter | None) -> ReplyLengths:
    """The length of each reply.

    Raises:
        ScenarioError: They can't be counted.
    """
    texts = list(dict.fromkeys(replies))
    if counter is not None and in_good_time(texts, counter):
        counts = counter.count(texts)
        return ReplyLengths({t: max(1, n) for t, n in zip(texts, counts, strict=True)}, "tokens")
    return ReplyLengths({text: max(1, len(text.split())) for text in texts}, "words")
