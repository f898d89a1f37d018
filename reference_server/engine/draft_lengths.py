"""How much of each guess is verified."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakKeyDictionary

from reference_server.engine.agreement import Agreement, common_shares
from reference_server.engine.guess_costs import GuessCosts
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

    def ask(self, num_rows: int, num_decoding: int, limits: Mapping[Sequence, int]) -> Mapping[Sequence, int]:
        """Tokens to guess of each sequence, before anything is guessed.

        Args:
            num_rows: Rows of tokens of the step without drafts.
            num_decoding: Sequences that get a token from it.
            limits: How many tokens each can use.

        Returns:
            Limits, none above those; what is left out is not guessed.
        """

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
        """Take note of a step's rows, drafts among them, and its time, without that of guesses."""

    def observe_guess(self, passes: SequenceOf[tuple[int, int]]) -> None:
        """Take note of rows and times, ns, of the passes that guesses took, if any."""


class WholeDrafts:
    """All of every guess, whatever it costs."""

    def ask(self, num_rows: int, num_decoding: int, limits: Mapping[Sequence, int]) -> Mapping[Sequence, int]:  # noqa: ARG002  # what the protocol gives
        """See :class:`DraftLengths`."""
        return limits

    def choose(self, num_rows: int, num_decoding: int, drafts: Drafts) -> Mapping[Sequence, int]:  # noqa: ARG002  # what the protocol gives
        """See :class:`DraftLengths`."""
        return {sequence: len(draft) for sequence, draft in drafts.items()}

    def judge(self, sequence: Sequence, tokens: SequenceOf[int]) -> None:
        """See :class:`DraftLengths`."""

    def observe(self, num_rows: int, duration_ns: int) -> None:
        """See :class:`DraftLengths`."""

    def observe_guess(self, passes: SequenceOf[tuple[int, int]]) -> None:
        """See :class:`DraftLengths`."""


class DraftsThatPay:
    """As many tokens as make the most tokens in a second.

    What a step gives is its own tokens and, of drafts, each token's chance to stand; what it takes is known
    from steps of as many rows. Tokens of all guesses are taken in the order of their chances, as many as make
    the quotient largest. Drafting begins where it gains 5 % and ends where it gains less than 2. What a model
    takes to guess counts before it does: all sequences are then guessed equally far, or none.
    """

    def __init__(self) -> None:
        self._times, self._costs = StepTimes(), GuessCosts()
        self._common = common_shares()
        self._agreements: WeakKeyDictionary[Sequence, Agreement] = WeakKeyDictionary()
        self._guesses, self._drafts = _Hysteresis(), _Hysteresis()

    def ask(self, num_rows: int, num_decoding: int, limits: Mapping[Sequence, int]) -> Mapping[Sequence, int]:
        """See :class:`DraftLengths`. Guesses that cost nothing are always made, since they teach."""
        if not self._costs.are_known:
            return limits
        depths = range(max(limits.values()) + 1)
        gains = [float(num_decoding)] + [0.0] * depths[-1]
        for sequence, limit in limits.items():
            for place, chance in enumerate(self._agreement(sequence).chances(limit)):
                gains[place + 1] += chance
        rows = [num_rows + sum(min(depth, limit) for limit in limits.values()) for depth in depths]
        guessing = self._costs.predict(len(limits), depths[-1])
        times = [taken + more for taken, more in zip(self._times.predict(rows), guessing, strict=True)]
        rates = [gained / taken for gained, taken in zip(accumulate(gains), times, strict=True)]
        depth = self._guesses.best(rates)
        if depth == depths[-1] or self._costs.is_time_for_trial(guessing[-1]):
            depth = depths[-1]
            self._costs.note_whole()
        return {sequence: min(limit, depth) for sequence, limit in limits.items()} if depth else {}

    def choose(self, num_rows: int, num_decoding: int, drafts: Drafts) -> Mapping[Sequence, int]:
        """See :class:`DraftLengths`."""
        chances: list[tuple[float, Sequence]] = []
        for sequence, draft in drafts.items():
            agreement = self._agreement(sequence)
            agreement.guess(draft)
            chances += [(chance, sequence) for chance in agreement.chances(len(draft))]
        chances.sort(key=lambda pair: pair[0], reverse=True)
        gained = list(accumulate((chance for chance, _ in chances), initial=float(num_decoding)))
        times = self._times.predict(range(num_rows, num_rows + len(gained)))
        count = self._drafts.best([tokens / taken for tokens, taken in zip(gained, times, strict=True)])
        return Counter(sequence for _, sequence in chances[:count])

    def judge(self, sequence: Sequence, tokens: SequenceOf[int]) -> None:
        """See :class:`DraftLengths`."""
        if (agreement := self._agreements.get(sequence)) is not None:
            agreement.judge(tokens)

    def observe(self, num_rows: int, duration_ns: int) -> None:
        """See :class:`DraftLengths`."""
        self._times.observe(num_rows, duration_ns)
        self._costs.observe_step(duration_ns)

    def observe_guess(self, passes: SequenceOf[tuple[int, int]]) -> None:
        """See :class:`DraftLengths`."""
        self._costs.observe(passes)

    def _agreement(self, sequence: Sequence) -> Agreement:
        return self._agreements.setdefault(sequence, Agreement(self._common))


class _Hysteresis:
    """Of rates by lengths the best length, if it gains enough over none: more to start than to go on."""

    def __init__(self) -> None:
        self._goes_on = False

    def best(self, rates: list[float]) -> int:
        best = max(range(len(rates)), key=rates.__getitem__)
        self._goes_on = rates[best] > (_TO_GO_ON if self._goes_on else _TO_START) * rates[0]
        return best if self._goes_on else 0
