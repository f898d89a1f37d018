"""What guesses cost that a model makes, and how seldom to try more of them than seem to pay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.engine.step_times import StepTimes

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

_SHARE_FOR_TRIALS: Final = 0.01


class GuessCosts:
    """Times of a draft model's passes, by rows; of methods without a model nothing is ever seen.

    What is not guessed teaches nothing, so now and then guesses are made as long as may be, on trial:
    whenever such a guess takes a hundredth of the time since the last.
    """

    def __init__(self) -> None:
        self._times = StepTimes()
        self._last_ns, self._since_whole_ns = 0, 0

    @property
    def are_known(self) -> bool:
        """Whether guesses have taken any passes so far."""
        return self._last_ns > 0

    def observe(self, passes: SequenceOf[tuple[int, int]]) -> None:
        """Take note of rows and times, ns, of the passes of a guess."""
        for num_rows, duration_ns in passes:
            self._times.observe(num_rows, duration_ns)
        if passes:
            self._last_ns = sum(duration for _, duration in passes)

    def observe_step(self, duration_ns: int) -> None:
        """Take note of a step's time, without that of guesses."""
        self._since_whole_ns += duration_ns

    def predict(self, num_sequences: int, max_tokens: int) -> list[float]:
        """Time, ns, of guesses of no token, of one, ... of ``max_tokens`` for each of so many sequences."""
        (of_one_pass,) = self._times.predict([num_sequences])
        return [num_passes * of_one_pass for num_passes in range(max_tokens + 1)]

    def is_time_for_trial(self, duration_ns: float) -> bool:
        """Whether it is time for one that takes so long; the last may have taken longer, to catch up."""
        return max(duration_ns, self._last_ns) <= _SHARE_FOR_TRIALS * self._since_whole_ns

    def note_whole(self) -> None:
        """Take note that guesses are made as long as may be."""
        self._since_whole_ns = 0
