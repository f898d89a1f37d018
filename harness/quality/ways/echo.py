"""The prompt is given back with its log-probabilities: OpenAI's ``echo``, of vLLM and the bundled server."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from harness.quality.errors import NotGivenError, QualityError
from harness.quality.reply import Listed
from harness.quality.ways import Way

if TYPE_CHECKING:
    from harness.quality.server import AskedServer


class Echo(Way):
    """One request for a window."""

    requests_per_token: ClassVar[float] = 0.01

    async def score(self, server: AskedServer, token_ids: list[int], num_top: int) -> Listed:
        """See ``Way``."""
        found = await server.complete(token_ids, num_top, echo=True)
        positions = found.positions[1 : len(token_ids)]
        if len(found.positions) < len(token_ids) or any(each.logprob is None for each in positions):
            raise NotGivenError("echo: the reply doesn't hold the prompt's log-probabilities")
        if found.by_id and [each.token for each in positions] != [str(token) for token in token_ids[1:]]:
            raise QualityError(
                f"{server.target.url} echoes other tokens than it was given; it can't be measured"
            )
        return Listed(found.by_id, positions)
