"""What comes next of a schedule, until its number of requests is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scenarios.conversation import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scenarios.request import Arrival


class Intake:
    """Arrivals whose turns are together exactly ``num_requests``: the last conversation is cut to fit.

    Turns that will never be sent, because their conversation broke off, may be made up for with conversations
    that the schedule has beyond its number.

    Args:
        arrivals: Of the schedule, or a part of them.
        num_requests: Requests in all; None for no limit.

    Attributes:
        num_unsent: Requests, later turns included, that were taken and have neither been sent nor given up.
        is_over: True when there was nothing to take; False again while there is something to make up for.
    """

    def __init__(self, arrivals: Iterator[Arrival], num_requests: int | None) -> None:
        self.num_unsent = 0
        self.is_over = False
        self._arrivals = arrivals
        self._num_requests = num_requests
        self._num_owed = 0
        self._held: Arrival | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Arrival:
        arrival = self._held or next(self._arrivals, None)
        room = 0 if arrival is None else self._room(arrival)
        if arrival is None or not room:
            self._held, self.is_over = arrival, True
            raise StopIteration
        self._held = None
        if room < 1 + len(arrival.later):
            arrival = shortened(arrival, room)
        self.num_unsent += 1 + len(arrival.later)
        return arrival

    def sent(self) -> None:
        """A request that was taken is sent now."""
        self.num_unsent -= 1

    def given_up(self, num_turns: int, *, make_up: bool) -> None:
        """So many later turns of a conversation will never be sent.

        Args:
            num_turns: How many.
            make_up: Whether other requests are to take their place.
        """
        self.num_unsent -= num_turns
        if make_up and num_turns and self._num_requests is not None:
            self._num_owed += num_turns
            self.is_over = False

    @property
    def has_sent_all(self) -> bool:
        """True once everything there is has been sent."""
        return self.is_over and not self.num_unsent

    def _room(self, arrival: Arrival) -> int:
        """How many turns of the arrival may be sent."""
        num_turns = 1 + len(arrival.later)
        if self._num_requests is None:
            return num_turns
        if arrival.index < self._num_requests:
            return min(num_turns, self._num_requests - arrival.index)
        made_up = min(num_turns, self._num_owed)
        self._num_owed -= made_up
        return made_up
