"""What guesses cost that a model makes, and how seldom to try where they don't pay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.engine.step_times import StepTimes

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

_SHARE_FOR_TRIALS: Final = 0.01


class GuessCosts:
    """Times of a draft model's passes, by rows; of methods without a model nothing is ever seen.

    While nothing is guessed nothing is learnt, so now and then a guess is made on trial: whenever all of it
    takes a hundredth of what was computed since the last.
    """

    def __init__(self) -> None:
        self._times = StepTimes()
        self._last_ns, self._without_ns = 0, 0

    @property
    def are_known(self) -> bool:
        """Whether guesses have taken any passes so far."""
        return self._last_ns > 0

    def observe(self, passes: SequenceOf[tuple[int, int]]) -> None:
        """Take note of rows and times, ns, of the passes of a guess."""
        for num_rows, duration_ns in passes:
            self._times.observe(num_rows, duration_ns)
        if passes:
            self._last_ns, self._without_ns = sum(duration for _, duration in passes), 0

    def observe_step(self, duration_ns: int) -> None:
        """Take note of a step's time, without that of guesses."""
        self._without_ns += duration_ns

    def predict(self, num_sequences: int, max_tokens: int) -> list[float]:
        """Time, ns, of guesses of no token, of one, ... of ``max_tokens`` for each of so many sequences."""
        (of_one_pass,) = self._times.predict([num_sequences])
        return [num_passes * of_one_pass for num_passes in range(max_tokens + 1)]

    def allow_trial(self) -> bool:
        """Whether it is time to see if guesses have become better."""
        return self._last_ns <= _SHARE_FOR_TRIALS * self._without_ns
