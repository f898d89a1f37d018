"""How many drafted tokens there were, and how many of them became output."""

from __future__ import annotations


class DraftCounts:
    """Counters that only grow.

    Args:
        max_tokens: Of a draft.

    Attributes:
        num_drafts: Drafts verified, one for each sequence and step.
        num_draft_tokens: Their tokens.
        num_accepted_per_pos: Of the tokens at each place of a draft, those that became output.
    """

    def __init__(self, max_tokens: int) -> None:
        self.num_drafts = 0
        self.num_draft_tokens = 0
        self.num_accepted_per_pos = [0] * max_tokens

    def count(self, num_drafted: int, num_accepted: int) -> None:
        """Take note of a draft."""
        self.num_drafts += 1
        self.num_draft_tokens += num_drafted
        for place in range(num_accepted):
            self.num_accepted_per_pos[place] += 1
