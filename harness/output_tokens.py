"""How many tokens an answer has, and who says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.record import TokenSource

if TYPE_CHECKING:
    from harness.wire.answer import Answer
    from scenarios.tokenizers import TokenCounter


def output_tokens_of(
    answer: Answer, counts: list[int], exact: bool, counter: TokenCounter | None
) -> tuple[int | None, TokenSource | None]:
    """The best count there is.

    Args:
        answer: Wholly decoded.
        counts: Tokens in each chunk, 1 where assumed.
        exact: Whether the server said so.
        counter: The scenario's own tokenizer. It counts the whole text at once, what was thought aloud by
            itself: a chunk alone may begin in the middle of a word.
    """
    said = None if answer.usage is None else answer.usage.completion_tokens
    if said is not None and (said or not counts):  # a server that sent tokens and says 0 hasn't counted
        return said, TokenSource.USAGE
    if answer.has_token_ids:
        return sum(counts), TokenSource.TOKEN_IDS
    if counter is not None and not exact and (counted := sum(counter.count(answer.texts))):
        return counted, TokenSource.TOKENIZER
    if counts:
        return sum(counts), TokenSource.CHUNKS
    return None, None
