"""One token after the other: a completion of one token after each beginning of the text, as of llama.cpp.

A token that isn't among the likely ones listed has no log-probability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from harness.quality.errors import NotGivenError
from harness.quality.reply import Listed
from harness.quality.scores import Position
from harness.quality.ways import Way

if TYPE_CHECKING:
    from harness.quality.server import AskedServer


class Steps(Way):
    """One request for a token; the server's prefix cache makes each about as dear as a token of output."""

    requests_per_token: ClassVar[float] = 1.0

    async def score(self, server: AskedServer, token_ids: list[int], num_top: int) -> Listed:
        """See ``Way``."""
        positions = []
        for place, token_id in enumerate(token_ids[1:], 1):
            found = await server.complete(token_ids[:place], num_top)
            if not found.positions:
                raise NotGivenError("the reply lists no token")
            if not found.by_id:
                raise NotGivenError("tokens are named by their text alone, so the text's own can't be found")
            top = found.positions[0].top
            positions.append(Position(str(token_id), dict(top).get(str(token_id)), top))
        return Listed(True, positions)
