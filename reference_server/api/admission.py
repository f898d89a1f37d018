"""Who may come in: counted before any work is done for a request, so that a burst can't slip through."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from reference_server.api.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_server.engine.request import EngineStats

RETRY_AFTER = {"retry-after": "1"}


class Admission:
    """Counts the requests and sequences in flight and turns away what would queue too long.

    A sequence runs or queues. With at most ``max_num_seqs`` running, no more than that and
    ``max_num_queued_reqs`` may be in flight; and when the engine itself reports a full queue (its blocks may
    hold fewer sequences than ``max_num_seqs``), none may join.

    Args:
        max_num_seqs: Sequences that can run at once.
        max_num_queued_reqs: Sequences that may wait; None admits all.
        stats: Tells the engine's state.
    """

    def __init__(
        self, max_num_seqs: int, max_num_queued_reqs: int | None, stats: Callable[[], EngineStats]
    ) -> None:
        self._max_num_seqs = max_num_seqs
        self._max_num_queued_reqs = max_num_queued_reqs
        self._stats = stats
        self._idle = asyncio.Event()
        self._idle.set()
        self.num_requests = 0
        self.num_sequences = 0
        self.num_rejections = 0
        self.draining = False

    @contextlib.contextmanager
    def enter(self, num_sequences: int) -> Iterator[None]:
        """Hold a place for a request until it is answered.

        Raises:
            ApiError: 503, because the server is full or is being stopped.
        """
        self.check_open()
        if self._is_full(num_sequences):
            self.num_rejections += 1
            raise ApiError(503, "The server's queue is full; try again later.", headers=RETRY_AFTER)
        self._count(1, num_sequences)
        try:
            yield
        finally:
            self._count(-1, -num_sequences)

    def check_open(self) -> None:
        """Refuse while the server is being stopped."""
        if self.draining:
            headers = {**RETRY_AFTER, "connection": "close"}
            raise ApiError(
                503, "The server is being stopped; try another or try again later.", headers=headers
            )

    async def drain(self, timeout_s: float) -> bool:
        """Admit no more and wait for those inside; False if some are still there after ``timeout_s``."""
        self.draining = True
        try:
            await asyncio.wait_for(self._idle.wait(), timeout_s)
        except TimeoutError:
            return False
        return True

    def _is_full(self, num_sequences: int) -> bool:
        limit = self._max_num_queued_reqs
        if limit is None or self.num_sequences == 0:
            return False
        queue_is_full = limit > 0 and self._stats().num_waiting >= limit
        return queue_is_full or self.num_sequences + num_sequences > self._max_num_seqs + limit

    def _count(self, requests: int, sequences: int) -> None:
        self.num_requests += requests
        self.num_sequences += sequences
        if self.num_requests:
            self._idle.clear()
        else:
            self._idle.set()
