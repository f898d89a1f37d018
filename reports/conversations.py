"""What a run of conversations shows by turn."""

from __future__ import annotations

import msgspec

from reports.percentile import Percentile


class TurnSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The measured requests of some turns.

    Attributes:
        first: Number of the first of these turns, from 1.
        last: Of the last of them; None for all later ones.
        num_requests: That succeeded or failed.
        num_failed: Of them, failed.
        prompt_tokens: On average, history included; None where the server doesn't say.
        n: Samples of ``ttft``.
        ttft: Percentiles of the response TTFT, ns; empty without samples.
        cached_share: Prompt tokens from the server's prefix cache, of all; None where it doesn't say.
    """

    first: int
    last: int | None
    num_requests: int
    num_failed: int
    prompt_tokens: float | None = None
    n: int = 0
    ttft: tuple[Percentile, ...] = ()
    cached_share: float | None = None

    @property
    def label(self) -> str:
        """``1``, ``3 to 4``, ``2 and later``."""
        if self.last is None:
            return f"{self.first} and later"
        return f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"


class Conversations(msgspec.Struct, frozen=True, kw_only=True):
    """The conversations of a run, warm-up included; ``turns`` and ``later`` are of the measured window.

    Attributes:
        num_begun: Conversations of which a turn was sent.
        num_broken: Ended by a turn that failed or was cancelled, with others to come.
        num_unsent: Turns that would have come in those.
        num_unfinished: Ended by the end of the run, with turns to come.
        turns: By turn: 1, 2, 3 to 4, 5 to 8, ...; only those that there are.
        later: All turns but the first together; None where there is none.
    """

    num_begun: int
    num_broken: int
    num_unsent: int
    num_unfinished: int
    turns: tuple[TurnSummary, ...]
    later: TurnSummary | None = None
