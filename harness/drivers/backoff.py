"""How long a slot waits before it asks again a server that doesn't reply."""

from __future__ import annotations

from typing import Final

FIRST_S: Final = 0.01
MAX_S: Final = 1.0


class Backoff:
    """Twice as long each time, up to a second; from the beginning again after a reply."""

    def __init__(self) -> None:
        self._next_s = FIRST_S

    def wait_s(self, *, replied: bool) -> float:
        """Seconds to wait after a request; 0 where the server replied."""
        if replied:
            self._next_s = FIRST_S
            return 0.0
        wait_s, self._next_s = self._next_s, min(2 * self._next_s, MAX_S)
        return wait_s
