"""The stretch of an answer whose events differ in nothing but a word."""

from __future__ import annotations

from typing import NamedTuple


class Run(NamedTuple):
    """Events that are alike but for their word, each in a chunk of its own.

    Attributes:
        due_ns: When the first is due.
        gap_ns: From one to the next.
        num_events: One word each.
        before: Bytes before the word.
        after: Bytes after it.
        position: Of the first word in the vocabulary.
    """

    due_ns: int
    gap_ns: int
    num_events: int
    before: bytes
    after: bytes
    position: int
