"""Which continuation is the likeliest, of several that were seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.speculative.texts.place_index import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf


def vote(seen: SequenceOf[SequenceOf[int]], max_tokens: int, min_chance: float) -> tuple[list[int], float]:
    """Go on as most did, from token to token, for as long as that is likely enough.

    A token's chance is the share of all that went this way up to it, those among them that have ended.

    Args:
        seen: Continuations of ``max_tokens`` tokens, or up to ``SEPARATOR`` where one has ended.
        max_tokens: To go.
        min_chance: Of the last token.

    Returns:
        The tokens, of equally many the one seen first, and the sum of their chances.
    """
    num_seen, tokens, sum_of_chances = len(seen), list[int](), 0.0
    for number in range(max_tokens):
        votes = [one[number] for one in seen if one[number] != SEPARATOR]
        if not votes:
            break
        token = max(votes, key=votes.count)
        chance = votes.count(token) / num_seen
        if chance < min_chance:
            break
        tokens.append(token)
        sum_of_chances += chance
        seen = [one for one in seen if one[number] == token]
    return tokens, sum_of_chances
