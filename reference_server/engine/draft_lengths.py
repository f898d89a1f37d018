"""How much of each guess is verified."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakKeyDictionary

from reference_server.engine.agreement import Agreement, common_shares
from reference_server.engine.step_times import StepTimes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence as SequenceOf

    from reference_server.engine.sequence import Sequence

    Drafts = Mapping[Sequence, SequenceOf[int]]

_TO_START: Final = 1.05
_TO_GO_ON: Final = 1.02


class DraftLengths(Protocol):
    """Decides, and learns from what came of it."""

    def choose(self, num_rows: int, num_decoding: int, drafts: Drafts) -> Mapping[Sequence, int]:
        """Tokens to verify of each guess.

        Args:
            num_rows: Rows of tokens of the step without drafts.
            num_decoding: Sequences that get a token from it.
            drafts: The guesses.

        Returns:
            Lengths, none longer than the guess; what is left out is 0.
        """

    def judge(self, sequence: Sequence, tokens: SequenceOf[int]) -> None:
        """Take note of the tokens that a step gave a sequence."""

    def observe(self, num_rows: int, duration_ns: int) -> None:
        """Take note of a step's rows, drafts among them, and its time."""


class WholeDrafts:
    """All of every guess, whatever it costs."""

    def choose(self, num_rows: int, num_decoding: int, drafts: Drafts) -> Mapping[Sequence, int]:  # noqa: ARG002  # what the protocol gives
        """See :class:`DraftLengths`."""
        return {sequence: len(draft) for sequence, draft in drafts.items()}

    def judge(self, sequence: Sequence, tokens: SequenceOf[int]) -> None:
        """See :class:`DraftLengths`."""

    def observe(self, num_rows: int, duration_ns: int) -> None:
        """See :class:`DraftLengths`."""


class DraftsThatPay:
    """As many tokens as make the most tokens in a second.

    What a step gives is its own tokens and, of drafts, each token's chance to stand; what it takes is known
    from steps of as many rows. Tokens of all guesses are taken in the order of their chances, as many as make
    the quotient largest. Drafting begins where it gains 5 % and ends where it gains less than 2.
    """

    def __init__(self) -> None:
        self._times = StepTimes()
        self._common = common_shares()
        self._agreements: WeakKeyDictionary[Sequence, Agreement] = WeakKeyDictionary()
        self._drafted_last = False

    def choose(self, num_rows: int, num_decoding: int, drafts: Drafts) -> Mapping[Sequence, int]:
        """See :class:`DraftLengths`."""
        chances: list[tuple[float, Sequence]] = []
        for sequence, draft in drafts.items():
            agreement = self._agreements.setdefault(sequence, Agreement(self._common))
            agreement.guess(draft)
            chances += [(chance, sequence) for chance in agreement.chances(len(draft))]
        chances.sort(key=lambda pair: pair[0], reverse=True)
        count = self._num_that_pay(num_rows, num_decoding, [chance for chance, _ in chances])
        return Counter(sequence for _, sequence in chances[:count])

    def judge(self, sequence: Sequence, tokens: SequenceOf[int]) -> None:
        """See :class:`DraftLengths`."""
        if (agreement := self._agreements.get(sequence)) is not None:
            agreement.judge(tokens)

    def observe(self, num_rows: int, duration_ns: int) -> None:
        """See :class:`DraftLengths`."""
        self._times.observe(num_rows, duration_ns)

    def _num_that_pay(self, num_rows: int, num_decoding: int, chances: list[float]) -> int:
        tokens = list(accumulate(chances, initial=float(num_decoding)))
        times = self._times.predict(range(num_rows, num_rows + len(tokens)))
        rates = [gained / taken for gained, taken in zip(tokens, times, strict=True)]
        best = max(range(len(rates)), key=rates.__getitem__)
        wanted = _TO_GO_ON if self._drafted_last else _TO_START
        self._drafted_last = rates[best] > wanted * rates[0]
        return best if self._drafted_last else 0
